// In a copy of the web page, in a frame: tells the frame's owner which texts lie over each other, or stand beside the page.
(() => {
  "use strict";
  const leaves = () => [...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility() && !e.closest("details:not([open])")
    && [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== ""));
  // Of its own text alone: an element may be wider, or hold others.
  const boxes = (e) => [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== "").flatMap((n) => {
    const range = document.createRange();
    range.selectNodeContents(n);
    return [...range.getClientRects()].map((box) => ({ e, text: n.data.trim().slice(0, 40), box }));
  });
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const faults = () => {
    const all = leaves().filter((e) => !["SCRIPT", "STYLE", "OPTION"].includes(e.tagName)).flatMap(boxes);
    const found = [];
    for (const [i, a] of all.entries()) {
      if (a.box.right > innerWidth + 1 && !a.e.closest(".scroll, .phases")) found.push(`beside the page: ${a.text}`);
      for (const b of all.slice(i + 1))
        if (a.e !== b.e && over(a.box, b.box) && !a.e.closest(".phases")) found.push(`${a.text} | ${b.text}`);
    }
    if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    return found;
  };
  const wait = () => {
    if (document.body.dataset.helped !== "true") return void setTimeout(wait, 100);
    parent.postMessage(`measured: ${faults().join("; ") || "none"}`, "*");
  };
  wait();
})();
