// What charts have in common: colours, units, and names that lie over nothing else.
const chartTools = () => {
  "use strict";

  // As in page.css; in the order in which they are stacked, what stays at the bottom.
  const ROLES = [
    ["context", "context and libraries", "#5f6b76"],
    ["parameter", "weights", "#0072b2"],
    ["optimizer_state", "optimizer state", "#cc79a7"],
    ["buffer", "buffers", "#949494"],
    ["gradient", "gradients", "#e69f00"],
    ["input", "input batch", "#56b4e9"],
    ["feature_map", "feature maps", "#009e73"],
    ["temporary", "temporaries", "#f0e442"],
    ["workspace", "workspace", "#d55e00"],
    ["autotuning", "scratch of timed algorithms", "#d9b38c"],
    ["slack", "allocator slack", "#c7c7c7"],
  ];
  const TITLES = Object.fromEntries(ROLES.map(([id, title]) => [id, title]));
  const BOUNDS = { compute: "#0072b2", dram: "#d55e00", latency: "#7f7f7f", host: "#cc79a7" };
  const VERDICTS = { fits: ["fits", "#009e73"], may_fit: ["may fit", "#e69f00"], does_not_fit: ["does not fit", "#d55e00"] };
  const LINES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#949494", "#b8a800"];

  const GIB = 2 ** 30;
  const gib = (bytes) => bytes / GIB;
  const ms = (ns) => ns / 1e6;
  const inGib = (bytes) => `${gib(bytes).toFixed(gib(bytes) < 1 ? 2 : 1)} GiB`;
  const inTime = (ns) => {
    const [unit, name] = ns < 999.5e3 ? [1e3, "us"] : ns < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
    const value = ns / unit;
    return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${name}`;
  };
  const start = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
  const cut = (text, most) =>
    text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2 + 1)}`;
  // "images/s" where all are of one unit.
  const paceOf = (units) => (units[0] && units.every((unit) => unit === units[0]) ? `${units[0]}/s` : "throughput");

  const roleColour = (shown, width) => ({
    field: "role", type: "nominal", title: null,
    scale: { domain: shown.map((r) => r[1]), range: shown.map((r) => r[2]) },
    legend: { orient: "bottom", columns: Math.max(1, Math.min(5, Math.floor(width / 150))), symbolType: "square" },
  });
  const verdictColour = (shown) => {
    const all = Object.values(VERDICTS).filter(([name]) => shown.includes(name));
    return { field: "verdict", type: "nominal", title: null, legend: { orient: "top" },
      scale: { domain: all.map((v) => v[0]), range: all.map((v) => v[1]) } };
  };
  const tips = (fields) => fields.map((field) => ({ field, type: "nominal" }));

  // A line across the chart; what it is stands in the chart's key.
  const rule = (y, dash) => ({
    data: { values: [{ y }] },
    mark: { type: "rule", strokeDash: dash, color: "currentColor", strokeWidth: 1.3 },
    encoding: { y: { field: "y", type: "quantitative" } },
  });

  const pen = document.createElement("canvas").getContext("2d");
  const FONT = 10;
  const widthOf = (text) => {
    pen.font = `${FONT}px system-ui, "DejaVu Sans", sans-serif`;
    return pen.measureText(text).width;
  };
  // What is left of a chart's width beside its vertical axis, at the least.
  const plotWidth = (width) => Math.max(120, width - 75);

  // Where a name may be beside a point of a radius: alignment and distances; the first that is free is taken.
  const BESIDE = (r, h) => [["left", r, 0], ["right", -r, 0], ["center", 0, -r - h / 2], ["center", 0, r + h / 2],
    ["left", r, -h], ["right", -r, -h], ["left", r, h], ["right", -r, h]];
  // The same beside lines that go right and up from point to point.
  const ABOVE = (r, h) => [["center", 0, -r - h / 2], ["right", -r, -h / 2], ["left", r, -h], ["right", -r, -h], ["left", r, h], ["center", 0, r + h / 2]];

  // Names beside their points, in pixels {x, y, radius, text}: on a side where nothing is yet, the first of `points`
  // first, nor over `drawn`, boxes of what else there is; where there is no room the name is left out. Gives layers of text,
  // for the data {datum} and the encoding.
  const named = (points, width, height, encoding, sidesOf = BESIDE, drawn = []) => {
    const radius = (p) => p.radius || 5;
    const boxes = [...drawn, ...points.map((p) => [p.x - radius(p), p.y - radius(p), p.x + radius(p), p.y + radius(p)])];
    const layers = [];
    points.forEach((p) => {
      if (!p.text) return;
      const w = widthOf(p.text), r = radius(p) + 3, h = FONT + 3;
      for (const [align, dx, dy] of sidesOf(r, h)) {
        const left = p.x + dx - (align === "left" ? 0 : align === "right" ? w : w / 2);
        const box = [left, p.y + dy - h / 2, left + w, p.y + dy + h / 2];
        const inside = box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height;
        if (!inside || boxes.some((b) => b[0] < box[2] && box[0] < b[2] && b[1] < box[3] && box[1] < b[3])) continue;
        boxes.push([box[0] - 2, box[1], box[2] + 2, box[3]]);
        layers.push({ data: { values: [p.datum] },
          mark: { type: "text", align, baseline: "middle", dx, dy, color: "currentColor", fontSize: FONT, text: p.text },
          encoding });
        return;
      }
    });
    return layers;
  };

  return { ROLES, TITLES, BOUNDS, VERDICTS, LINES, GIB, gib, ms, inGib, inTime, start, cut, paceOf, roleColour, verdictColour, tips, rule,
    widthOf, plotWidth, named, ABOVE };
};
