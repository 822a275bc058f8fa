// Charts of the result that is in the page, each in the element that names it. Nothing is computed
// here but units: what a chart shows is in the result, and in a table beside it.
(() => {
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
    ["slack", "allocator slack", "#c7c7c7"],
  ];
  const TITLES = Object.fromEntries(ROLES.map(([id, title]) => [id, title]));
  const BOUNDS = { compute: "#0072b2", dram: "#d55e00", latency: "#7f7f7f", host: "#cc79a7" };

  const GIB = 2 ** 30;
  const gib = (bytes) => bytes / GIB;
  const ms = (ns) => ns / 1e6;
  const inGib = (bytes) => `${gib(bytes).toFixed(gib(bytes) < 1 ? 2 : 1)} GiB`;
  const cut = (text, most) =>
    text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2 + 1)}`;

  const ROLE_COLOUR = (shown) => ({
    field: "role", type: "nominal", title: null,
    scale: { domain: shown.map((r) => r[1]), range: shown.map((r) => r[2]) },
    legend: { orient: "bottom", columns: 5, symbolType: "square" },
  });

  const rule = (y, text, dash, align) => ({
    data: { values: [{ y, text }] },
    layer: [
      { mark: { type: "rule", strokeDash: dash, color: "currentColor", strokeWidth: 1.3 },
        encoding: { y: { field: "y", type: "quantitative" } } },
      { mark: { type: "text", align, baseline: "bottom", dx: align === "left" ? 6 : -6, dy: -2, color: "currentColor",
                x: align === "left" ? 0 : { expr: "width" } },
        encoding: { y: { field: "y", type: "quantitative" }, text: { field: "text" } } },
    ],
  });

  // Memory over one step. `along`: "launch" or "time".
  const memory = ({ result }, along) => {
    const m = result.memory;
    const moments = m.curve.map((p) => ({
      x: along === "time" ? ms(p.at_ns) : p.launch, phase: p.phase, node: p.node || "",
      bytes: { context: m.context_bytes, ...p.by_role },
    }));
    for (const p of moments) p.total = Object.values(p.bytes).reduce((a, b) => a + b, 0);
    // Where kernels take no time moments coincide: the fullest stands for them.
    const curve = moments.filter((p, i) => !moments.some((q, j) =>
      q.x === p.x && (q.total > p.total || (q.total === p.total && j < i))));
    const shown = ROLES.filter(([id]) => curve.some((p) => p.bytes[id] > 0));
    const stacked = curve.flatMap((p) => shown.map(([id, title], order) =>
      ({ x: p.x, role: title, order, y: gib(p.bytes[id]) })));
    const peak = curve.reduce((a, b) => (b.total > a.total ? b : a));
    const usable = result.device.usable_bytes, [low, high] = m.device_range_bytes;
    const beyond = usable > 4 * high; // its line would flatten the picture
    const top = gib(beyond ? 1.25 * high : 1.06 * Math.max(usable, high));
    const phases = curve.filter((p, i) => i === 0 || p.phase !== curve[i - 1].phase)
      .filter((p) => p.phase !== "loss");
    const x = { field: "x", type: "quantitative", scale: { nice: false },
      title: along === "time" ? "milliseconds of GPU time" : "kernels launched" };
    const details = curve.map((p) => ({ ...p, GiB: gib(p.total).toFixed(2),
      ...Object.fromEntries(shown.map(([id, title]) => [title, inGib(p.bytes[id])])) }));
    const from = peak.x > curve.at(-1).x * 0.6;
    return {
      description: "Device memory over one step, stacked by role; the table below has its figures",
      height: 300,
      layer: [
        { data: { values: stacked },
          mark: { type: "area", interpolate: "step-after", line: false },
          encoding: { x, y: { field: "y", type: "quantitative", stack: "zero", title: "GiB",
                              scale: { domain: [0, top] } },
                      color: ROLE_COLOUR(shown), order: { field: "order", type: "quantitative" } } },
        { data: { values: [{ low: gib(low), high: gib(high) }] },
          mark: { type: "rect", color: "currentColor", opacity: 0.1 },
          encoding: { y: { field: "low", type: "quantitative" }, y2: { field: "high" } } },
        rule(gib(m.device_bytes), `the device shows ${inGib(m.device_bytes)}`, [4, 3], "left"),
        beyond
          ? { data: { values: [{ text: `usable on the GPU ${inGib(usable)}, far above ↑` }] },
              mark: { type: "text", align: "right", baseline: "top", x: { expr: "width - 6" }, y: 4, color: "currentColor" },
              encoding: { text: { field: "text" } } }
          : rule(gib(usable), `usable on the GPU ${inGib(usable)}`, [1, 0], "right"),
        { data: { values: phases.map((p) => ({ x: p.x, phase: p.phase })) },
          layer: [
            { mark: { type: "rule", color: "currentColor", opacity: 0.35 }, encoding: { x } },
            { mark: { type: "text", align: "left", baseline: "bottom", dx: 2, y: -3, color: "currentColor", fontStyle: "italic" },
              encoding: { x, text: { field: "phase" } } },
          ] },
        { data: { values: [{ x: peak.x, y: gib(peak.total),
                             text: `peak ${inGib(peak.total)}, ${peak.phase} at ${cut(peak.node, 40)}` }] },
          layer: [
            { mark: { type: "point", shape: "diamond", size: 90, filled: true, color: "currentColor" },
              encoding: { x, y: { field: "y", type: "quantitative" } } },
            { mark: { type: "text", align: from ? "right" : "left", baseline: "bottom", dx: from ? -7 : 7, dy: -7,
                      color: "currentColor", fontWeight: "bold" },
              encoding: { x, y: { field: "y", type: "quantitative" }, text: { field: "text" } } },
          ] },
        { data: { values: details },
          params: [{ name: "near", select: { type: "point", on: "pointerover", clear: "pointerout", nearest: true, fields: ["x"] } }],
          mark: { type: "rule", color: "currentColor" },
          encoding: { x, opacity: { condition: { param: "near", empty: false, value: 0.6 }, value: 0 },
            tooltip: ["phase", "node", "GiB", ...shown.map((r) => r[1])].map((field) => ({ field, type: "nominal" })) } },
      ],
    };
  };

  const parts = ({ result }) => {
    const values = result.memory.peak.parts.map((p, order) =>
      ({ role: TITLES[p.part], order, y: gib(p.bytes), size: inGib(p.bytes) }));
    return {
      description: "Device memory at the peak by role; the table below has its figures",
      height: 44, data: { values }, mark: "bar",
      encoding: {
        x: { field: "y", type: "quantitative", stack: "zero", title: "GiB" },
        color: { ...ROLE_COLOUR(ROLES), legend: null },
        order: { field: "order", type: "quantitative" },
        tooltip: [{ field: "role", type: "nominal" }, { field: "size", type: "nominal" }],
      },
    };
  };

  // Of the depths of modules, the deepest of which a picture holds all.
  const shownModules = (modules) => {
    const leaf = (m, i) => i + 1 === modules.length || modules[i + 1].depth <= m.depth;
    const at = (depth) => modules.filter((m, i) => m.depth === depth || (m.depth < depth && leaf(m, i)));
    let chosen = at(1);
    for (let depth = 2; depth <= 12; ++depth) {
      const next = at(depth);
      if (next.length > 24 && chosen.length >= 6) break;
      chosen = next;
      if (next.length > 24) break;
    }
    return chosen;
  };

  const modules = ({ result }) => {
    const whole = (m) => m.forward_ns + m.backward_ns;
    const rows = shownModules(result.modules).filter((m) => whole(m) > 0)
      .sort((a, b) => whole(b) - whole(a)).slice(0, 20);
    const values = rows.flatMap((m) => [["forward", m.forward_ns], ["backward", m.backward_ns]]
      .map(([pass, ns], order) => ({ module: m.path, pass, order, ms: ms(ns) })));
    return {
      description: "Time by module, forward and backward; the table below has its figures",
      height: 17 * rows.length, data: { values }, mark: "bar",
      encoding: {
        y: { field: "module", type: "nominal", sort: rows.map((m) => m.path), title: null, axis: { labelLimit: 260 } },
        x: { field: "ms", type: "quantitative", title: "milliseconds of GPU time" },
        color: { field: "pass", type: "nominal", title: null, legend: { orient: "top" },
                 scale: { domain: ["forward", "backward"], range: ["#56b4e9", "#0072b2"] } },
        order: { field: "order", type: "quantitative" },
        tooltip: [{ field: "module", type: "nominal" }, { field: "pass", type: "nominal" },
                  { field: "ms", type: "quantitative", format: ".3f" }],
      },
    };
  };

  const roofline = ({ result }) => {
    const { peak_flops: peak, bandwidth_bytes_per_second: bandwidth } = result.device;
    const kernels = result.time.kernels.filter((k) => k.flop_per_byte > 0 && k.flop_per_second > 0)
      .map((k) => ({ ...k, ms: ms(k.total_ns) }));
    const along = kernels.map((k) => k.flop_per_byte).concat(peak && bandwidth ? [peak / bandwidth] : []);
    const low = Math.min(...along) / 2, high = Math.max(...along) * 4;
    const roof = peak && bandwidth ? [[low, bandwidth * low], [peak / bandwidth, peak], [high, peak]]
      .map(([x, y]) => ({ flop_per_byte: x, flop_per_second: y })) : [];
    const x = { field: "flop_per_byte", type: "quantitative", title: "FLOP per byte", scale: { type: "log", domain: [low, high], nice: false } };
    const up = kernels.map((k) => k.flop_per_second).concat(peak ? [peak] : []);
    const y = { field: "flop_per_second", type: "quantitative", title: "FLOP per second", axis: { format: "~s" },
                scale: { type: "log", domain: [Math.min(...up) / 2, Math.max(...up) * 2], nice: false } };
    return {
      description: "Kernels below the device's roof; the table of kernels has their figures",
      height: 320,
      layer: [
        { data: { values: roof }, mark: { type: "line", color: "currentColor", strokeWidth: 1.5 }, encoding: { x, y } },
        { data: { values: kernels },
          mark: { type: "point", filled: true, opacity: 0.75 },
          encoding: { x, y,
            size: { field: "ms", type: "quantitative", title: "ms", scale: { range: [12, 600] }, legend: { orient: "right" } },
            color: { field: "bound_by", type: "nominal", title: "bound by",
                     scale: { domain: Object.keys(BOUNDS), range: Object.values(BOUNDS) } },
            tooltip: [{ field: "kernel", type: "nominal" }, { field: "algorithm", type: "nominal" },
                      { field: "count", type: "quantitative" }, { field: "ms", type: "quantitative", format: ".3f" },
                      { field: "bound_by", type: "nominal" }, { field: "fraction_of_peak", type: "quantitative", format: ".0%" }] } },
      ],
    };
  };

  const CHARTS = { memory, parts, modules, roofline };

  const CONFIG = {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor", tickColor: "currentColor",
            gridColor: "currentColor", gridOpacity: 0.15, titleFontWeight: "normal" },
    legend: { labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal", labelLimit: 300 },
  };

  const draw = (element, document_, variant) => {
    const spec = { width: "container",
      autosize: { type: "fit-x", contains: "padding" }, ...CHARTS[element.dataset.chart](document_, variant) };
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    // `ast`: expressions are interpreted, so that the page's policy need not allow eval.
    return window.vegaEmbed(element, spec, { mode: "vega-lite", ast: true, actions: false, renderer: "svg",
      config: CONFIG, tooltip: { theme: dark ? "dark" : "light" } });
  };

  // Radio buttons for charts that can be drawn in several ways: data-variants="launch time".
  const addToggle = (element, document_) => {
    const variants = (element.dataset.variants || "").split(" ").filter(Boolean);
    if (variants.length < 2) return variants[0];
    const group = Object.assign(document.createElement("div"), { className: "toggle" });
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", "horizontal axis");
    for (const variant of variants) {
      const input = Object.assign(document.createElement("input"),
        { type: "radio", name: element.id, checked: variant === variants[0] });
      input.addEventListener("change", () => draw(element, document_, variant));
      const label = document.createElement("label");
      label.append(input, ` by ${variant}`);
      group.append(label);
    }
    element.before(group);
    return variants[0];
  };

  // The packed script runs as one of the page's own: its policy knows the text by its hash.
  const unpack = async () => {
    const packed = document.getElementById("vega");
    if (!packed) return false;
    const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    script.remove(); // it has run
    return Boolean(window.vegaEmbed);
  };

  const start = async () => {
    const result = JSON.parse(document.getElementById("plimsoll-result").textContent);
    if (await unpack()) {
      for (const element of document.querySelectorAll("[data-chart]"))
        await draw(element, result, addToggle(element, result));
    }
    document.documentElement.dataset.drawn = "true";
  };
  start();
})();
