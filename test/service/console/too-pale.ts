import type { Page } from 'playwright-core';

/**
 * Returns the elements of the page with text whose contrast is below 4.5:1. Each result consists of
 * the contrast, the element and the start of its text.
 */
export function tooPale(page: Page): Promise<string[]> {
  return page.evaluate(LOOK);
}

/**
 * This script runs in the page. All colours are opaque, so the nearest background is the visible
 * one.
 */
const LOOK = `(() => {
  const luminance = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(part => {
      const ratio = part / 255;
      return ratio <= 0.04045 ? ratio / 12.92 : ((ratio + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = element => {
    for (let one = element; one !== null; one = one.parentElement) {
      const ground = getComputedStyle(one).backgroundColor;
      if (!/^rgba\\(.*, 0\\)$/.test(ground)) return ground;
    }
    return 'rgb(255, 255, 255)';
  };
  const pale = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '');
    const { color, fill, visibility } = getComputedStyle(element);
    if (!own || visibility === 'hidden' || element.closest('title, option')) continue;
    const ink = element.ownerSVGElement ? fill : color;
    const [a, b] = [luminance(ink), luminance(groundOf(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5)
      pale.push(ratio.toFixed(2) + ' ' + element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 40));
  }
  return pale;
})()`;
