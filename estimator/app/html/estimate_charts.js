// Charts of one estimate (`plimsoll schema estimate`), with what chart_tools.js lends.
const estimateCharts = (lent) => {
  "use strict";

  const { ROLES, TITLES, BOUNDS, VERDICTS, gib, ms, inGib, start, cut, roleColour, verdictColour, tips, rule, widthOf, plotWidth, named } = lent;

  // The phases' names, each where its own stretch has room for it.
  const phaseNames = (curve, width) => {
    const begins = curve.filter((p, i) => (i === 0 || p.phase !== curve[i - 1].phase) && p.phase !== "loss");
    const end = curve.at(-1).x, begin = curve[0].x;
    const at = (x) => (end > begin ? (x - begin) / (end - begin) : 0) * plotWidth(width);
    let taken = -Infinity;
    return begins.map((p, i) => {
      const text = p.phase, w = widthOf(text) + 10, last = i + 1 === begins.length;
      const from = at(p.x), to = last ? plotWidth(width) : at(begins[i + 1].x);
      const left = last && from + w > to ? to - w : from; // the last may end at the right
      const room = left >= taken && (last || from + w <= to);
      if (room) taken = left + w;
      return { x: p.x, text: room ? text : "", align: left < from ? "right" : "left" };
    });
  };

  // Memory over one step. `along`: "launch" or "time".
  const memory = ({ result }, width, along) => {
    const m = result.memory;
    const moments = m.curve.map((p) => ({
      x: along === "time" ? ms(p.at_ns) : p.launch, phase: p.phase, node: p.node || "",
      bytes: { context: m.context_bytes, ...p.by_role }, total: p.bytes,
    }));
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
    const phases = phaseNames(curve, width);
    const x = { field: "x", type: "quantitative", scale: { nice: false },
      title: along === "time" ? "milliseconds of GPU time" : "kernels launched" };
    const details = curve.map((p) => ({ ...p, GiB: gib(p.total).toFixed(2),
      ...Object.fromEntries(shown.map(([id, title]) => [title, inGib(p.bytes[id])])) }));
    return {
      description: "Device memory over one step, stacked by role; the table below has its figures",
      keys: [
        ["line", `usable on the GPU ${inGib(usable)}${beyond ? ", far above" : ""}`],
        ["dashed", `the device shows ${inGib(m.device_bytes)}`],
        ["band", `range ${inGib(low)} to ${inGib(high)}`],
        ["diamond", `peak of tensors ${inGib(peak.total)}, ${peak.phase}${peak.node ? ` at ${cut(peak.node, 40)}` : ""}`],
      ],
      height: 300,
      layer: [
        { data: { values: stacked },
          mark: { type: "area", interpolate: "step-after", line: false },
          encoding: { x, y: { field: "y", type: "quantitative", stack: "zero", title: "GiB",
                              scale: { domain: [0, top] } },
                      color: roleColour(shown, width), order: { field: "order", type: "quantitative" } } },
        { data: { values: [{ low: gib(low), high: gib(high) }] },
          mark: { type: "rect", color: "currentColor", opacity: 0.1 },
          encoding: { y: { field: "low", type: "quantitative" }, y2: { field: "high" } } },
        rule(gib(m.device_bytes), [4, 3]),
        ...(beyond ? [] : [rule(gib(usable), [1, 0])]),
        { data: { values: phases }, mark: { type: "rule", color: "currentColor", opacity: 0.35 }, encoding: { x } },
        ...["left", "right"].map((align) => ({
          data: { values: phases.filter((p) => p.text && p.align === align) },
          mark: { type: "text", align, baseline: "bottom", dx: align === "left" ? 2 : 0, y: -3, color: "currentColor", fontStyle: "italic" },
          encoding: { ...(align === "left" ? { x } : { x: { value: "width" } }), text: { field: "text" } } })),
        { data: { values: [{ x: peak.x, y: gib(peak.total) }] },
          mark: { type: "point", shape: "diamond", size: 90, filled: true, color: "currentColor" },
          encoding: { x, y: { field: "y", type: "quantitative" } } },
        { data: { values: details },
          params: [{ name: "near", select: { type: "point", on: "pointerover", clear: "pointerout", nearest: true, fields: ["x"] } }],
          mark: { type: "rule", color: "currentColor" },
          encoding: { x, opacity: { condition: { param: "near", empty: false, value: 0.6 }, value: 0 },
            tooltip: tips(["phase", "node", "GiB", ...shown.map((r) => r[1])]) } },
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
        x: { field: "y", type: "quantitative", stack: "zero", title: "GiB", axis: { tickCount: 12 } },
        color: { ...roleColour(ROLES, 0), legend: null },
        order: { field: "order", type: "quantitative" },
        tooltip: tips(["role", "size"]),
      },
    };
  };

  // Of the depths of modules, the deepest of which a picture holds all, or one at which no module has most of the whole.
  const shownModules = (modules, whole) => {
    const leaf = (m, i) => i + 1 === modules.length || modules[i + 1].depth <= m.depth;
    const at = (depth) => modules.filter((m, i) => m.depth === depth || (m.depth < depth && leaf(m, i)));
    let chosen = at(1);
    for (let depth = 2; depth <= 12; ++depth) {
      const next = at(depth);
      const sizes = chosen.map(whole), sum = sizes.reduce((a, b) => a + b, 0);
      if (next.length > 24 && chosen.length >= 6 && Math.max(...sizes) < 0.5 * sum) break;
      chosen = next;
      if (next.length > 24) break;
    }
    return chosen;
  };

  // Bars of modules, the longest first; `figures`: [name, colour, of a module, as shown].
  const byModule = (modules, figures, title, description, width) => {
    const whole = (m) => figures.reduce((sum, [, , of]) => sum + of(m), 0);
    const rows = shownModules(modules, whole).filter((m) => whole(m) > 0).sort((a, b) => whole(b) - whole(a)).slice(0, 20);
    if (rows.length === 0) return null;
    const values = rows.flatMap((m) => figures.map(([kind, , of, text], order) =>
      ({ module: m.path, kind, order, y: of(m), size: text(m) })));
    return {
      description, height: 17 * rows.length, data: { values }, mark: "bar",
      encoding: {
        y: { field: "module", type: "nominal", sort: rows.map((m) => m.path), title: null,
             axis: { labelLimit: Math.min(260, 0.4 * width) } },
        x: { field: "y", type: "quantitative", title },
        color: { field: "kind", type: "nominal", title: null, legend: { orient: "top" },
                 scale: { domain: figures.map((f) => f[0]), range: figures.map((f) => f[1]) } },
        order: { field: "order", type: "quantitative" },
        tooltip: tips(["module", "kind", "size"]),
      },
    };
  };

  const modules = ({ result }, width) => byModule(result.modules,
    [["forward", "#56b4e9", "forward_ns"], ["backward", "#0072b2", "backward_ns"]]
      .map(([pass, colour, key]) => [pass, colour, (m) => ms(m[key]), (m) => lent.inTime(m[key])]),
    "milliseconds of GPU time", "Time by module, forward and backward; the table of layers has the figures", width);

  const module_memory = ({ result }, width) => byModule(result.modules,
    [["parameter", "weight_bytes"], ["feature_map", "feature_map_bytes"]].map(([id, key]) => {
      const [, title, colour] = ROLES.find((role) => role[0] === id);
      return [title, colour, (m) => gib(m[key]), (m) => inGib(m[key])];
    }),
    "GiB", "Weights and feature maps by module; the table of layers has the figures", width);

  // What would help, from today's peak down, against what may be used.
  const remedies = ({ result }, width) => {
    const usable = result.device.usable_bytes;
    const today = { ...(result.today || { verdict: result.verdict, device_bytes: result.memory.device_bytes }), flags: "as requested" };
    const values = [today, ...(result.remedies || result.advice)].map((r) => ({ change: r.flags, verdict: VERDICTS[r.verdict][0],
      y: gib(r.device_bytes), size: inGib(r.device_bytes) }));
    const x = { field: "y", type: "quantitative", title: "GiB" };
    return {
      description: "Device memory with each change, against the GPU's; the table below has the figures",
      keys: [["line", `usable on the GPU ${inGib(usable)}`]],
      height: 20 * values.length,
      layer: [
        { data: { values }, mark: "bar",
          encoding: { x, y: { field: "change", type: "nominal", sort: null, title: null, axis: { labelLimit: Math.min(420, 0.4 * width) } },
            color: verdictColour(values.map((v) => v.verdict)), tooltip: tips(["change", "verdict", "size"]) } },
        { data: { values: [{ y: gib(usable) }] }, mark: { type: "rule", color: "currentColor", strokeWidth: 1.5 }, encoding: { x } },
      ],
    };
  };

  // The kernels that take most of the time have their names beside them.
  const roofline = ({ result }, width) => {
    const { peak_flops: peak, bandwidth_bytes_per_second: bandwidth } = result.device;
    const counted = result.time.kernels.filter((k) => k.flop_per_byte > 0 && k.flop_per_second > 0)
      .map((k) => ({ ...k, ms: ms(k.total_ns) })).sort((a, b) => b.ms - a.ms);
    const kLeast = 0.0005; // of the GPU's time: smaller ones would make empty decades
    const large = counted.filter((k) => k.share >= kLeast), kernels = large.length > 0 ? large : counted;
    if (kernels.length === 0) return null;
    const rest = counted.length - kernels.length;
    const height = 340, plot = plotWidth(width);
    const along = kernels.map((k) => k.flop_per_byte).concat(peak && bandwidth ? [peak / bandwidth] : []);
    const low = Math.min(...along) / 2, high = Math.max(...along) * 4;
    const up = kernels.map((k) => k.flop_per_second).concat(peak ? [peak] : []);
    const bottom = Math.min(...up) / 2, top = Math.max(...up) * 2;
    const roof = peak && bandwidth ? [[Math.max(low, bottom / bandwidth), Math.max(bandwidth * low, bottom)], [peak / bandwidth, peak], [high, peak]]
      .map(([x, y]) => ({ flop_per_byte: x, flop_per_second: y })) : [];
    const x = { field: "flop_per_byte", type: "quantitative", title: "FLOP per byte", scale: { type: "log", domain: [low, high], nice: false } };
    const y = { field: "flop_per_second", type: "quantitative", title: "FLOP per second", axis: { format: "~s" },
                scale: { type: "log", domain: [bottom, top], nice: false } };
    const most = kernels[0].ms, kMostNames = 10;
    const part = (value, from, to) => Math.log(value / from) / Math.log(to / from);
    const seen = new Set();
    const points = kernels.map((k) => {
      const text = seen.size < kMostNames && !seen.has(k.kernel) ? start(k.kernel, 30) : "";
      if (text) seen.add(k.kernel);
      return { x: plot * part(k.flop_per_byte, low, high), y: height * (1 - part(k.flop_per_second, bottom, top)),
        radius: Math.sqrt((12 + 588 * (k.ms / most)) / Math.PI), text, datum: k };
    });
    const bounds = Object.entries(BOUNDS).filter(([bound]) => kernels.some((k) => k.bound_by === bound));
    return {
      description: "Kernels below the GPU's roofline; the table of kernels has their figures",
      keys: [...(roof.length === 0 ? [] : [["line", "what the GPU's memory and arithmetic allow"]]),
        ["", `area of a dot: time in a step${rest > 0 ? `; ${rest} short kernels are in the table alone` : ""}`]],
      height,
      layer: [
        ...(roof.length === 0 ? [] : [
          { data: { values: roof }, mark: { type: "line", color: "currentColor", strokeWidth: 1.5 }, encoding: { x, y } }]),
        { data: { values: kernels },
          mark: { type: "point", filled: true, opacity: 0.75 },
          encoding: { x, y,
            size: { field: "ms", type: "quantitative", title: "ms in a step", scale: { domain: [0, most], range: [12, 600] }, legend: null },
            color: { field: "bound_by", type: "nominal", title: "limited by", legend: { orient: "bottom", labelExpr: "datum.label === 'dram' ? 'memory' : datum.label" },
                     scale: { domain: bounds.map((b) => b[0]), range: bounds.map((b) => b[1]) } },
            tooltip: [...tips(["kernel", "algorithm"]),
                      { field: "count", type: "quantitative" }, { field: "ms", type: "quantitative", format: ".3f" },
                      { field: "bound_by", type: "nominal", title: "limited by" }, { field: "fraction_of_peak", type: "quantitative", format: ".0%" }] } },
        ...named(points, plot, height, { x, y }),
      ],
    };
  };

  return { memory, parts, modules, module_memory, remedies, roofline };
};
