// In a report: which texts lie over each other or beside the page, which are hard to read, and which tables scroll
// without saying so; an empty text where none do.
(() => {
  "use strict";
  const own = (e) => [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== "");
  const leaves = () => [...document.body.querySelectorAll("*")].filter((e) => !["SCRIPT", "STYLE", "OPTION"].includes(e.tagName)
    && own(e).length > 0 && e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !e.closest("details:not([open]) > :not(summary)"));
  const boxes = (e) => own(e).flatMap((n) => {
    const range = document.createRange();
    range.selectNodeContents(n);
    return [...range.getClientRects()].map((box) => ({ e, text: n.data.trim().slice(0, 40), box }));
  });
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;

  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (!/rgba\(.*, 0\)|transparent/.test(backgroundColor)) return backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (e) => {
    const style = getComputedStyle(e);
    const [a, b] = [light(e instanceof SVGElement ? style.fill : style.color), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const figures = (e) => e instanceof SVGElement && getComputedStyle(e).fill !== getComputedStyle(e).color; // on colours of their own

  const faults = () => {
    const all = leaves().flatMap(boxes), found = [];
    for (const [i, a] of all.entries()) {
      const picture = a.e.closest("svg");
      if (picture && a.box.right > picture.getBoundingClientRect().right + 2) found.push(`beside its picture (${picture.closest(".chart")?.dataset.chart}): ${a.text}`);
      if ((a.box.right > innerWidth + 1 || a.box.left < -1) && !a.e.closest(".scroll")) found.push(`beside the page: ${a.text}`);
      for (const b of all.slice(i + 1)) {
        if (b.box.top < a.box.bottom && a.e !== b.e && over(a.box, b.box)) found.push(`${a.text} | ${b.text}`);
      }
      if (!figures(a.e) && contrast(a.e) < 4.5) found.push(`faint: ${a.text}`);
    }
    for (const region of document.querySelectorAll(".scroll")) {
      const before = region.previousElementSibling;
      if (region.checkVisibility() && getComputedStyle(region).overflowX !== "visible" && region.scrollWidth > region.clientWidth + 1
          && !(before && before.className === "scrolls")) found.push(`scrolls in silence: ${region.getAttribute("aria-label")}`);
    }
    if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    return found;
  };
  // Hints and charts take their places.
  return new Promise((done) => setTimeout(() => done(faults().slice(0, 20).join("; ")), 300));
})()
