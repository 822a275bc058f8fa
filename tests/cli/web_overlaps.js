// In the web page: which texts lie over each other, or stand beside the page; an empty text where none do.
(() => {
  "use strict";
  const leaves = () => [...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility()
    && (!e.closest("details:not([open])") || e.closest("summary"))
    && [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== ""));
  // Of its own text alone: an element may be wider, or hold others.
  const boxes = (e) => [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== "").flatMap((n) => {
    const range = document.createRange();
    range.selectNodeContents(n);
    return [...range.getClientRects()].map((box) => ({ e, text: n.data.trim().slice(0, 40), box: seen(e, box) }));
  });
  // What is left of a box in what it scrolls in.
  const seen = (e, box) => {
    const room = e.closest(".scroll, form");
    if (!room || getComputedStyle(room).overflowY === "visible") return box;
    const { left, right, top, bottom } = room.getBoundingClientRect();
    return { left: Math.max(left, box.left), right: Math.min(right, box.right), top: Math.max(top, box.top), bottom: Math.min(bottom, box.bottom) };
  };
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  scrollTo(0, 0);
  const isLaid = (e) => !["SCRIPT", "STYLE", "OPTION", "TITLE"].includes(e.tagName);
  const all = leaves().filter(isLaid).flatMap(boxes);
  const found = [];
  for (const [i, a] of all.entries()) {
    if (a.box.right > innerWidth + 1 && !a.e.closest(".phases")) found.push(`beside the page: ${a.text}`);
    for (const b of all.slice(i + 1))
      if (a.e !== b.e && over(a.box, b.box) && !a.e.closest(".phases")) found.push(`${a.text} | ${b.text}`);
  }
  // A table that is cut says so, and takes the focus. Paper does not scroll.
  for (const e of document.querySelectorAll(".scroll"))
    if (e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible"
      && (e.tabIndex !== 0 || !getComputedStyle(e, "::after").content.includes("scrolls")))
      found.push(`cut without a hint: ${e.getAttribute("aria-label")}`);
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return found.join("; ");
})()
