/** The first byte of every gzip file, and of no text. */
export const GZIP_MAGIC = 0x1f;
