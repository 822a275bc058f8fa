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
    ["autotuning", "scratch of timed algorithms", "#d9b38c"],
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

  const ROLE_COLOUR = (shown, width) => ({
    field: "role", type: "nominal", title: null,
    scale: { domain: shown.map((r) => r[1]), range: shown.map((r) => r[2]) },
    legend: { orient: "bottom", columns: Math.max(2, Math.min(5, Math.floor(width / 150))), symbolType: "square" },
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
    const phases = curve.filter((p, i) => i === 0 || p.phase !== curve[i - 1].phase)
      .filter((p) => p.phase !== "loss");
    const x = { field: "x", type: "quantitative", scale: { nice: false },
      title: along === "time" ? "milliseconds of GPU time" : "kernels launched" };
    const details = curve.map((p) => ({ ...p, GiB: gib(p.total).toFixed(2),
      ...Object.fromEntries(shown.map(([id, title]) => [title, inGib(p.bytes[id])])) }));
    const place = peak.x / curve.at(-1).x;
    const align = place < 0.35 ? "left" : place < 0.65 ? "center" : "right";
    return {
      description: "Device memory over one step, stacked by role; the table below has its figures",
      height: 300,
      layer: [
        { data: { values: stacked },
          mark: { type: "area", interpolate: "step-after", line: false },
          encoding: { x, y: { field: "y", type: "quantitative", stack: "zero", title: "GiB",
                              scale: { domain: [0, top] } },
                      color: ROLE_COLOUR(shown, width), order: { field: "order", type: "quantitative" } } },
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
                             text: `peak ${inGib(peak.total)}, ${peak.phase}${peak.node ? ` at ${cut(peak.node, 40)}` : ""}` }] },
          layer: [
            { mark: { type: "point", shape: "diamond", size: 90, filled: true, color: "currentColor" },
              encoding: { x, y: { field: "y", type: "quantitative" } } },
            { mark: { type: "text", align, baseline: "bottom", dy: -7,
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
        x: { field: "y", type: "quantitative", stack: "zero", title: "GiB", axis: { tickCount: 12 } },
        color: { ...ROLE_COLOUR(ROLES, 0), legend: null },
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
    if (rows.length === 0) return null;
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

  const module_memory = ({ result }) => {
    const whole = (m) => m.weight_bytes + m.feature_map_bytes;
    const rows = shownModules(result.modules).filter((m) => whole(m) > 0)
      .sort((a, b) => whole(b) - whole(a)).slice(0, 20);
    if (rows.length === 0) return null;
    const kinds = ROLES.filter(([id]) => id === "parameter" || id === "feature_map");
    const values = rows.flatMap((m) => [m.weight_bytes, m.feature_map_bytes].map((bytes, order) =>
      ({ module: m.path, role: kinds[order][1], order, y: gib(bytes), size: inGib(bytes) })));
    return {
      description: "Weights and feature maps by module; the table of layers has their figures",
      height: 17 * rows.length, data: { values }, mark: "bar",
      encoding: {
        y: { field: "module", type: "nominal", sort: rows.map((m) => m.path), title: null, axis: { labelLimit: 260 } },
        x: { field: "y", type: "quantitative", title: "GiB" },
        color: { field: "role", type: "nominal", title: null, legend: { orient: "top" },
                 scale: { domain: kinds.map((r) => r[1]), range: kinds.map((r) => r[2]) } },
        order: { field: "order", type: "quantitative" },
        tooltip: ["module", "role", "size"].map((field) => ({ field, type: "nominal" })),
      },
    };
  };

  // What would help, from today's peak down, against what may be used.
  const VERDICTS = { fits: ["fits", "#009e73"], may_fit: ["may fit", "#e69f00"], does_not_fit: ["does not fit", "#d55e00"] };
  const remedies = ({ result }, width) => {
    const usable = result.device.usable_bytes;
    const today = { flags: "as asked", verdict: result.verdict, device_bytes: result.memory.device_bytes };
    const values = [today, ...result.remedies].map((r) => ({ change: r.flags, verdict: VERDICTS[r.verdict][0],
      y: gib(r.device_bytes), size: inGib(r.device_bytes) }));
    const x = { field: "y", type: "quantitative", title: `GiB; the line is what is usable, ${inGib(usable)}` };
    return {
      description: "Device memory with each change, against the card's; the table below has the figures",
      height: 20 * values.length,
      layer: [
        { data: { values }, mark: "bar",
          encoding: { x, y: { field: "change", type: "nominal", sort: null, title: null, axis: { labelLimit: Math.min(420, 0.4 * width) } },
            color: { field: "verdict", type: "nominal", title: null, legend: { orient: "top" },
                     scale: { domain: Object.values(VERDICTS).map((v) => v[0]), range: Object.values(VERDICTS).map((v) => v[1]) } },
            tooltip: ["change", "verdict", "size"].map((field) => ({ field, type: "nominal" })) } },
        { data: { values: [{ y: gib(usable) }] }, mark: { type: "rule", color: "currentColor", strokeWidth: 1.5 }, encoding: { x } },
      ],
    };
  };

  const roofline = ({ result }) => {
    const { peak_flops: peak, bandwidth_bytes_per_second: bandwidth } = result.device;
    const kernels = result.time.kernels.filter((k) => k.flop_per_byte > 0 && k.flop_per_second > 0)
      .map((k) => ({ ...k, ms: ms(k.total_ns) }));
    if (kernels.length === 0) return null;
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
        ...(roof.length === 0 ? [] : [
          { data: { values: roof }, mark: { type: "line", color: "currentColor", strokeWidth: 1.5 }, encoding: { x, y } }]),
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

  // Which batches fit, as zones behind the figures of the batch.
  const batchesOf = ({ result }) => {
    const { safe, may_fit: [, last] } = result.batches || result;
    const vary = result.vary || "batch";
    const points = (result.batches || result).rounds.map((p) => ({ ...p, size: p.size || p.batch }));
    if (points.length === 0) return null;
    const end = 1.08 * Math.max(points.at(-1).size, last); // what is beyond is seen to be
    const zones = [["safe", 0, Math.min(safe, end)], ["may fit", safe, Math.min(last, end)], ["does not fit", Math.max(safe, last), end]]
      .filter(([, from, to]) => to > from).map(([zone, from, to]) => ({ zone, from, to }));
    const x = { field: "size", type: "quantitative", title: vary, scale: { domain: [0, end], nice: false } };
    const back = { data: { values: zones }, mark: { type: "rect", opacity: 0.16 },
      encoding: { x: { ...x, field: "from" }, x2: { field: "to" },
        color: { field: "zone", type: "nominal", title: null, legend: { orient: "top" },
                 scale: { domain: ["safe", "may fit", "does not fit"], range: ["#009e73", "#e69f00", "#d55e00"] } } } };
    return { points, x, back };
  };

  const batch_memory = (document_) => {
    if (!batchesOf(document_)) return null;
    const { points, x, back } = batchesOf(document_);
    const values = points.map((p) => ({ size: p.size, y: gib(p.device_bytes), low: gib(p.range[0]), high: gib(p.range[1]), peak: inGib(p.device_bytes) }));
    const usable = document_.result.device.usable_bytes;
    const y = { field: "y", type: "quantitative", title: "GiB" };
    return {
      description: "Device memory against the batch, with its range; the table below has its figures",
      height: 220,
      layer: [
        back,
        { data: { values }, mark: { type: "area", opacity: 0.25, color: "#0072b2" },
          encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" } } },
        { data: { values }, mark: { type: "line", point: { size: 30, color: "#0072b2" }, color: "#0072b2" },
          encoding: { x, y, tooltip: ["size", "peak"].map((field) => ({ field, type: "nominal" })) } },
        rule(gib(usable), `usable on the GPU ${inGib(usable)}`, [1, 0], "left"),
      ],
    };
  };

  const batch_pace = (document_) => {
    if (!batchesOf(document_)) return null;
    const { points, x, back } = batchesOf(document_);
    const values = points.map((p) => ({ size: p.size, pace: p.samples_per_second, ms: ms(p.step_ns) }));
    back.encoding.color.legend = null;
    return {
      description: "Throughput against the batch; the table below has its figures",
      height: 150,
      layer: [
        back,
        { data: { values }, mark: { type: "line", point: { size: 30, color: "#0072b2" }, color: "#0072b2" },
          encoding: { x, y: { field: "pace", type: "quantitative", title: "samples per second" },
            tooltip: [{ field: "size", type: "nominal" }, { field: "pace", type: "quantitative", format: ".1f" },
                      { field: "ms", type: "quantitative", format: ".2f", title: "ms a step" }] } },
      ],
    };
  };

  // Of a comparison or a sweep, one form.
  // Of a comparison's answers: the card, with the model where there are several.
  const namesOf = (answers) => {
    const several = new Set(answers.map(({ input }) => input.model)).size > 1;
    return ({ input, result }) => several ? `${input.model.replace(/^builtin:/, "")}, ${result.device.id}` : result.device.id;
  };
  const answersOf = (document_) => Array.isArray(document_)
    ? document_.map(({ input, result }) => ({ name: namesOf(document_)({ input, result }), label: namesOf(document_)({ input, result }), model: input.model,
        gpu: result.device.id, fits: result.fits, unbeaten: result.unbeaten,
        x: gib(result.memory.device_bytes), y: result.time.samples_per_second }))
    : document_.records.filter((r) => !r.error).map((r) => ({ gpu: r.device_id, fits: r.fits, unbeaten: r.unbeaten, label: `#${r.configuration}`,
        name: Object.entries(r.parameters).map(([key, value]) => `${key} ${value}`).join(", "),
        x: gib(r.device_bytes), y: r.samples_per_second }));

  const pareto = (document_, width) => {
    const values = answersOf(document_);
    if (values.length === 0) return null;
    const x = { field: "x", type: "quantitative", title: "peak memory, GiB" };
    const y = { field: "y", type: "quantitative", title: "samples per second" };
    const best = values.filter((v) => v.unbeaten).sort((a, b) => a.x - b.x);
    const gpus = [...new Set(values.map((v) => v.gpu))];
    const colour = { field: "gpu", type: "nominal", title: null, legend: gpus.length > 12 ? null : { orient: "top", columns: Math.max(1, Math.floor(width / 150)) },
      scale: { domain: gpus, range: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#949494", "#b8a800"] } };
    const named = Array.isArray(document_) ? values : best;
    // Names stand where there is room for them: left of the points at the right.
    const [from, to] = [Math.min, Math.max].map((end) => end(...values.map((v) => v.x)));
    const sides = [["left", 7], ["right", -7]].map(([align, dx]) => ({ align, dx,
      named: named.filter((v) => (v.x > from + 0.6 * (to - from)) === (align === "right")) })).filter((s) => s.named.length > 0);
    return {
      description: "Peak memory against throughput; the table below has the figures",
      height: 330,
      layer: [
        ...(best.length === 0 ? [] : [
          { data: { values: best }, mark: { type: "line", interpolate: "step-after", color: "currentColor", opacity: 0.6 },
            encoding: { x, y, detail: { field: "model", type: "nominal" } } }]),
        ...[true, false].filter((fits) => values.some((v) => v.fits === fits)).map((fits) => ({
          data: { values: values.filter((v) => v.fits === fits) }, mark: { type: "point", filled: fits, size: 70, opacity: 0.9 },
          encoding: { x, y, color: colour, tooltip: [{ field: "name", type: "nominal" }, { field: "gpu", type: "nominal" },
            { field: "x", type: "quantitative", format: ".2f", title: "GiB" }, { field: "y", type: "quantitative", format: ".1f", title: "per second" }] } })),
        ...sides.map((side) => (
          { data: { values: side.named }, mark: { type: "text", align: side.align, dx: side.dx, dy: -6, color: "currentColor", fontSize: 10 },
            encoding: { x, y, text: { field: "label" } } })),
      ],
    };
  };

  const compared_parts = (estimates, width) => {
    const name = namesOf(estimates);
    const values = estimates.flatMap((answer) => answer.result.memory.peak.parts.map((p) =>
      ({ gpu: name(answer), role: TITLES[p.part], order: ROLES.findIndex(([id]) => id === p.part), y: gib(p.bytes), size: inGib(p.bytes) })));
    return {
      description: "Device memory at the peak by role and GPU; the table below has its figures",
      height: 24 * estimates.length, data: { values }, mark: "bar",
      encoding: {
        y: { field: "gpu", type: "nominal", title: null, sort: null },
        x: { field: "y", type: "quantitative", stack: "zero", title: "GiB", axis: { tickCount: 12 } },
        color: ROLE_COLOUR(ROLES.filter(([, title]) => values.some((v) => v.role === title)), width),
        order: { field: "order", type: "quantitative" },
        tooltip: ["gpu", "role", "size"].map((field) => ({ field, type: "nominal" })),
      },
    };
  };

  const validation = ({ records }) => {
    const values = records.filter((r) => r.measured > 0 && r.predicted > 0).map((r) => ({
      x: r.measured, y: r.predicted, low: r.range ? r.range[0] : null, high: r.range ? r.range[1] : null, quantity: r.quantity,
      name: `${r.model || r.op || ""} ${r.device || ""}`, error: r.error, outside: r.within_tolerance === false }));
    if (values.length === 0) return null;
    const ranged = values.filter((v) => v.low > 0 && v.high > 0);
    const all = values.flatMap((v) => [v.x, v.y]);
    const [from, to] = [Math.min(...all) / 1.5, Math.max(...all) * 1.5];
    const axis = (field, title) => ({ field, type: "quantitative", title, scale: { type: "log", domain: [from, to], nice: false } });
    const x = axis("x", "measured, in the record's unit"), y = axis("y", "predicted");
    const quantities = [...new Set(values.map((v) => v.quantity))];
    const colour = { field: "quantity", type: "nominal", title: null, legend: quantities.length > 12 ? null : { orient: "right" },
      scale: { domain: quantities, range: ["#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#949494", "#b8a800"] } };
    return {
      description: "Predicted against measured; the tables below have the figures",
      height: 420,
      layer: [
        { data: { values: [{ x: from, y: from }, { x: to, y: to }] }, mark: { type: "line", color: "currentColor", opacity: 0.5 }, encoding: { x, y } },
        ...(ranged.length === 0 ? [] : [
          { data: { values: ranged }, mark: { type: "rule", opacity: 0.35, clip: true },
            encoding: { x, y: axis("low", "predicted"), y2: { field: "high" }, color: colour } }]),
        { data: { values }, mark: { type: "point", filled: true, size: 40, opacity: 0.8 },
          encoding: { x, y, color: colour,
            shape: { field: "outside", type: "nominal", legend: null, scale: { domain: [false, true], range: ["circle", "cross"] } },
            tooltip: [{ field: "name", type: "nominal" }, { field: "quantity", type: "nominal" }, { field: "x", type: "quantitative", title: "measured" },
                      { field: "y", type: "quantitative", title: "predicted" }, { field: "error", type: "quantitative", format: "+.1%" }] } },
      ],
    };
  };

  const CHARTS = { memory, parts, module_memory, remedies, modules, roofline, batch_memory, batch_pace, pareto, compared_parts, validation,
    ...watchCharts({ GIB, inGib, rule, cut }) };

  const CONFIG = {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor", tickColor: "currentColor",
            gridColor: "currentColor", gridOpacity: 0.15, titleFontWeight: "normal" },
    axisLeft: { minExtent: 38 },
    legend: { labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal", labelLimit: 300 },
  };

  const draw = (element, document_, variant) => {
    const chart = CHARTS[element.dataset.chart](document_, element.parentElement.clientWidth, variant);
    if (!chart) return null; // of nothing there is no picture
    const spec = { width: "container", autosize: { type: "fit-x", contains: "padding" }, ...chart };
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
