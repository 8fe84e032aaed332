declare module 'asciichart' {
  interface PlotConfig {
    readonly height?: number;
    readonly min?: number;
    readonly format?: (value: number) => string;
  }
  const asciichart: { plot(series: readonly number[], config?: PlotConfig): string };
  export default asciichart;
}
