// What the page is drawn of: figures as people read them, elements, bars. Texts are set as text.
const marks = (() => {
  "use strict";
  const ROLES = {
    context: "context and libraries", parameter: "weights", optimizer_state: "optimizer state", buffer: "buffers",
    gradient: "gradients", input: "input batch", feature_map: "feature maps", temporary: "temporaries",
    workspace: "workspace", autotuning: "scratch of timed algorithms", slack: "allocator slack",
  };
  // A word, and the class of its colour.
  const VERDICTS = { fits: ["FITS", "yes"], may_fit: ["MAY FIT", "perhaps"], does_not_fit: ["DOES NOT FIT", "no"] };

  const GIB = 2 ** 30;
  const size = (bytes) => (bytes < GIB ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`);
  const short = (value) => value.toPrecision(3).replace(/e\+?\d+$/, "");
  const scaled = (value, units) => {
    const [unit, name] = units.find(([least]) => value >= least) || units.at(-1);
    return `${short(value / (unit || 1))} ${name}`;
  };
  const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [0, "ns"]];
  const time = (ns) => (ns >= 999.5e9 ? `${Math.round(ns / 1e9).toLocaleString("en")} s` : scaled(ns, TIMES));
  const RATES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [0, ""]];
  const rate = (perSecond, unit) => `${scaled(perSecond, RATES)}${unit}/s`;
  const number = (n) => (n >= 100 ? Math.round(n).toLocaleString("en") : n.toPrecision(3));

  const count = (n) => n.toLocaleString("en");

  const DRAWN = new Set(["svg", "g", "path", "line", "circle", "text", "title"]);
  const element = (name, attributes = {}, ...children) => {
    const made = DRAWN.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, text] of Object.entries(attributes)) made.setAttribute(key, text);
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const section = (title, about, ...children) =>
    element("section", {}, element("h2", {}, title), about ? element("p", {}, about) : null, ...children);

  // What may be wider than the page: it can be reached by keyboard, and says that it scrolls.
  const sizes = new ResizeObserver((seen) => {
    for (const { target } of seen) target.parentElement.classList.toggle("cut", target.parentElement.scrollWidth > target.parentElement.clientWidth + 1);
  });
  const scrolling = (name, content) => {
    sizes.observe(content);
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, content);
  };
  const table = (caption, heads, rows) => scrolling(caption,
    element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads.map(([text, isFigure]) => element("th", { scope: "col", class: isFigure ? "figure" : "" }, text)))),
      element("tbody", {}, ...rows.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name),
        ...cells.map((text, i) => element("td", heads[i + 1][1] ? { "data-v": "" } : {}, text)))))));

  const percent = (part, whole) => `${Math.min(100, (100 * part) / whole).toFixed(3)}%`;
  // A row of bars: a name, pieces of a track [class, value], and what stands behind it. `limit`: a line.
  const bar = (name, pieces, whole, text, limit) => {
    const track = element("span", { class: "track" });
    for (const [kind, part, title] of pieces)
      track.append(element("i", { class: kind, style: `width:${percent(part, whole)}`, title: title || "" }));
    if (limit) track.append(element("u", { style: `left:calc(${percent(limit, whole)} - 1px)` }));
    return [element("span", { class: "name" }, name), element("span", { class: "value" }, text), track];
  };
  const bars = (rows, kind = "") => element("div", { class: `bars ${kind}` }, ...rows.flat());
  const key = (...entries) => element("ul", { class: "key" }, ...entries);
  const swatch = (kind, text = ROLES[kind] || kind) => element("li", {}, element("span", { class: `swatch ${kind}` }), text);

  return { ROLES, VERDICTS, size, time, rate, number, count, short, element, section, scrolling, table, bar, bars, key, swatch };
})();
