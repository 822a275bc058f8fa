// Charts of many answers: of a comparison, a sweep and a validation, with what chart_tools.js lends.
const listCharts = (lent) => {
  "use strict";

  const { ROLES, TITLES, LINES, gib, ms, inGib, inTime, paceOf, roleColour, tips, widthOf, plotWidth, named, ABOVE } = lent;

  // Of a comparison's answers: the card, with the model where there are several.
  const namesOf = (answers) => {
    const several = new Set(answers.map(({ input }) => input.model)).size > 1;
    return ({ input, result }) => several ? `${input.model.replace(/^builtin:/, "")}, ${result.device.id}` : result.device.id;
  };
  const modelOf = (record) => record.parameters.model || "";
  // Of a comparison or a sweep, one form. `unbeaten`: by none of its model and GPU; `best`: by none of its model.
  const answersOf = (document_) => Array.isArray(document_)
    ? document_.map((answer) => ({ name: namesOf(document_)(answer), label: namesOf(document_)(answer), model: answer.input.model, line: answer.input.model,
        gpu: answer.result.device.id, fits: answer.result.fits, unbeaten: answer.result.unbeaten, best: true, unit: answer.result.time.sample_unit,
        x: gib(answer.result.memory.device_bytes), price: answer.result.price_of_a_million_samples, y: answer.result.time.samples_per_second }))
    : document_.records.filter((r) => !r.error).map((r) => ({ gpu: r.device_id, fits: r.fits, unbeaten: r.unbeaten_on_gpu, best: r.unbeaten,
        model: modelOf(r), line: `${modelOf(r)} ${r.device_id}`, label: `#${r.configuration}`, unit: r.sample_unit,
        name: Object.entries(r.parameters).map(([key, value]) => `${key} ${value}`).join(", "),
        x: gib(r.device_bytes), price: r.price_of_a_million_samples, y: r.samples_per_second }));

  const gpuColour = (gpus, width) => ({ field: "gpu", type: "nominal", title: null,
    legend: gpus.length > 12 ? null : { orient: "top", columns: Math.max(1, Math.floor(width / 150)) },
    scale: { domain: gpus, range: LINES } });

  // Throughput against memory, or, `against` "price", against what a million samples cost.
  const pareto = (document_, width, against) => {
    const priced = against === "price";
    const values = answersOf(document_).map((v) => (priced ? { ...v, x: v.price } : v)).filter((v) => v.x != null);
    if (values.length === 0) return null;
    const height = 340, plot = plotWidth(width), unit = paceOf(values.map((v) => v.unit));
    const [right, top] = ["x", "y"].map((axis) => 1.06 * Math.max(...values.map((v) => v[axis])));
    const x = { field: "x", type: "quantitative", title: priced ? `price of a million ${unit.replace(/\/s$/, "").replace("throughput", "samples")}` : "peak memory, GiB",
      scale: { domain: [0, right], nice: false } };
    const y = { field: "y", type: "quantitative", title: unit, scale: { domain: [0, top], nice: false } };
    const gpus = [...new Set(values.map((v) => v.gpu))];
    const colour = gpuColour(gpus, width);
    const lines = values.filter((v) => v.unbeaten).sort((a, b) => a.x - b.x);
    const listed = Array.isArray(document_);
    // What has a name comes first: its place is chosen first, and no name lies over a point.
    const isNamed = (v) => listed || v.best;
    const place = (v) => ({ x: plot * (v.x / right), y: height * (1 - v.y / top) });
    const points = [...values.filter(isNamed), ...values.filter((v) => !isNamed(v))].map((v) =>
      ({ ...place(v), text: isNamed(v) ? v.label : "", datum: v }));
    // The lines' pieces: to the next point's place, and up or down to it.
    const pieces = priced ? [] : lines.flatMap((v, i) => {
      const next = lines.slice(i + 1).find((w) => w.line === v.line);
      if (!next) return [];
      const [a, b] = [place(v), place(next)];
      return [[a.x, a.y - 1, b.x, a.y + 1], [b.x - 1, Math.min(a.y, b.y), b.x + 1, Math.max(a.y, b.y)]];
    });
    return {
      description: "Throughput against peak memory; the table below has the figures",
      height,
      layer: [
        ...(priced || lines.length === 0 ? [] : [
          { data: { values: lines }, mark: { type: "line", interpolate: "step-after", opacity: 0.6, ...(listed ? { color: "currentColor" } : {}) },
            encoding: { x, y, detail: { field: "line", type: "nominal" }, ...(listed ? {} : { color: colour }) } }]),
        ...[true, false].filter((fits) => values.some((v) => v.fits === fits)).map((fits) => ({
          data: { values: values.filter((v) => v.fits === fits) }, mark: { type: "point", filled: fits, size: 60, opacity: 0.9 },
          encoding: { x, y, color: colour, tooltip: [...tips(["name", "gpu"]),
            { field: "x", type: "quantitative", format: ".3~g", title: priced ? "price" : "GiB" }, { field: "y", type: "quantitative", format: ".1f", title: unit }] } })),
        ...named(points, plot, height, { x, y }, ABOVE, pieces),
      ],
    };
  };

  // How many of the configurations at two parameters' values fit; of one alone, its peak memory.
  const STATES = { "all fit": "#66c2a5", "some fit": "#d9e88a", "may fit": "#f2c572", "none fits": "#e8916b", "no answer": "#b8bec4" };
  const stateOf = (c) => {
    const all = c.fits + c.may_fit + c.does_not_fit;
    return all === 0 ? "no answer" : c.fits === all ? "all fit" : c.fits > 0 ? "some fit" : c.may_fit > 0 ? "may fit" : "none fits";
  };
  const heat = ({ grids }, width, at) => {
    const grid = grids[Number(at) || 0];
    if (!grid) return null;
    const longest = (axis) => Math.max(...axis.values.map((value) => widthOf(String(value))));
    const [across, up] = grid.axes, [down, along] = longest(across) > longest(up) ? [0, 1] : [1, 0];
    const axes = [across, up];
    const values = grid.cells.map((c) => {
      const all = c.fits + c.may_fit + c.does_not_fit;
      const place = [c.first, c.second];
      return { x: String(axes[along].values[place[along]]), y: String(axes[down].values[place[down]]), state: stateOf(c), fit: `${c.fits} of ${all}`,
        "no answer": c.failed, least: all > 0 ? inGib(c.least_bytes) : "", most: all > 0 ? inGib(c.most_bytes) : "",
        text: all === 0 ? "-" : all > 1 ? `${c.fits}/${all}` : gib(c.least_bytes).toFixed(1) };
    });
    const single = values.every((v) => !v.text.includes("/"));
    const names = axes[along].values, labels = Math.min(0.3 * width, longest(axes[down]) + 10);
    const cell = (width - labels - 70) / names.length;
    const level = longest(axes[along]) + 6 < cell;
    const roomy = Math.max(...values.map((v) => widthOf(v.text))) + 4 < cell;
    const shown = Object.entries(STATES).filter(([state]) => values.some((v) => v.state === state));
    const x = { field: "x", type: "ordinal", sort: null, title: axes[along].name, axis: { labelAngle: level ? 0 : -45, labelLimit: 120, labelOverlap: level ? false : "greedy" },
      scale: { domain: names.map(String) } };
    const y = { field: "y", type: "ordinal", sort: null, title: axes[down].name, axis: { labelLimit: labels }, scale: { domain: axes[down].values.map(String) } };
    return {
      description: "How many configurations fit, by two parameters; the table below has each",
      keys: [["", single ? "figures: peak memory, GiB" : "figures: how many fit, of how many"]],
      height: 26 * axes[down].values.length,
      layer: [
        { data: { values }, mark: { type: "rect", stroke: "currentColor", strokeOpacity: 0.25 },
          encoding: { x, y, color: { field: "state", type: "nominal", title: null, legend: { orient: "top", columns: Math.max(2, Math.floor(width / 110)) },
              scale: { domain: shown.map((s) => s[0]), range: shown.map((s) => s[1]) } },
            tooltip: tips(["x", "y", "fit", "no answer", "least", "most"]) } },
        ...(roomy ? [{ data: { values }, mark: { type: "text", color: "#14191d", fontSize: 10 }, encoding: { x, y, text: { field: "text" } } }] : []),
      ],
    };
  };
  const heatVariants = ({ grids }) => grids.map(({ axes }, i) => [String(i), `${axes[0].name} and ${axes[1].name}`]);

  // A row for each answer, with its range as a line.
  const ranged = (values, title, description, width, colour) => {
    const names = values.map((v) => v.name), x = { field: "y", type: "quantitative", title };
    const y = { field: "name", type: "nominal", title: null, sort: names, axis: { labelLimit: Math.min(260, 0.4 * width) } };
    const whiskers = values.filter((v) => v.low != null);
    return {
      description, height: 24 * names.length,
      layer: [
        { data: { values }, mark: { type: "bar", color: colour, height: { band: 0.6 } }, encoding: { x, y, tooltip: tips(["name", "size", "range"]) } },
        ...(whiskers.length === 0 ? [] : [
          { data: { values: whiskers }, mark: { type: "rule", color: "currentColor", strokeWidth: 1.5 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, y } },
          ...["low", "high"].map((end) => ({ data: { values: whiskers }, mark: { type: "tick", color: "currentColor", size: 9, thickness: 1.5 },
            encoding: { x: { ...x, field: end }, y } }))]),
      ],
    };
  };

  const compared_parts = (estimates, width) => {
    const name = namesOf(estimates);
    const values = estimates.flatMap((answer) => answer.result.memory.peak.parts.map((p) =>
      ({ name: name(answer), role: TITLES[p.part], order: ROLES.findIndex(([id]) => id === p.part), y: gib(p.bytes), size: inGib(p.bytes) })));
    const ends = estimates.map((answer) => ({ name: name(answer), usable: gib(answer.result.device.usable_bytes), card: inGib(answer.result.device.usable_bytes),
      low: gib(answer.result.memory.device_range_bytes[0]), high: gib(answer.result.memory.device_range_bytes[1]) }));
    const most = Math.max(...ends.map((e) => e.high)), kFarthest = 3; // cards far larger would flatten the picture
    const cards = ends.filter((e) => e.usable <= kFarthest * most);
    const x = { field: "y", type: "quantitative", title: "GiB", scale: { domain: [0, 1.03 * Math.max(most, ...cards.map((e) => e.usable))], nice: false } };
    const y = { field: "name", type: "nominal", title: null, sort: ends.map((e) => e.name), axis: { labelLimit: Math.min(260, 0.4 * width) } };
    const far = ends.length - cards.length;
    return {
      description: "Device memory at the peak by role and GPU, with its range; the table below has its figures",
      keys: [["dashed", "range of the prediction"], ["tick", `usable on the GPU${far > 0 ? `; of ${far} far beyond` : ""}`]],
      height: 28 * estimates.length,
      layer: [
        { data: { values }, mark: { type: "bar", height: { band: 0.6 } },
          encoding: { y, x: { ...x, stack: "zero" }, color: roleColour(ROLES.filter(([, title]) => values.some((v) => v.role === title)), width - 150),
            order: { field: "order", type: "quantitative" }, tooltip: tips(["name", "role", "size"]) } },
        { data: { values: ends }, mark: { type: "rule", color: "currentColor", strokeDash: [4, 3], yOffset: 11 },
          encoding: { y, x: { ...x, field: "low" }, x2: { field: "high" } } },
        { data: { values: cards }, mark: { type: "tick", color: "currentColor", thickness: 2.5, size: 24 },
          encoding: { y, x: { ...x, field: "usable" }, tooltip: tips(["name", "card"]) } },
      ],
    };
  };

  const compared_steps = (estimates, width) => {
    const name = namesOf(estimates);
    const values = estimates.map((answer) => {
      const { step_ns, step_range_ns: [low, high] } = answer.result.time;
      return { name: name(answer), y: ms(step_ns), low: ms(low), high: ms(high), size: inTime(step_ns), range: `${inTime(low)} to ${inTime(high)}` };
    });
    const bars = ranged(values, "milliseconds a step", "Time of a step with its range; the table below has the figures", width, "#0072b2");
    return { ...bars, keys: [["line", "range of the prediction"]] };
  };

  const compared_prices = (estimates, width) => {
    const name = namesOf(estimates);
    const values = estimates.filter((answer) => answer.result.price_of_a_million_samples != null)
      .map((answer) => ({ name: name(answer), y: answer.result.price_of_a_million_samples, size: answer.result.price_of_a_million_samples.toPrecision(3) }));
    const units = estimates.map((answer) => answer.result.time.sample_unit);
    return values.length === 0 ? null
      : ranged(values, `price of a million ${new Set(units).size === 1 ? units[0] : "samples"}`, "Price; the table below has the figures", width, "#cc79a7");
  };

  const comparedOf = ({ records }, quantity) => records.filter((r) => r.quantity === quantity && r.measured > 0 && r.predicted > 0).map((r) => ({
    x: r.measured, y: r.predicted, low: r.range ? r.range[0] : null, high: r.range ? r.range[1] : null,
    name: `${r.model || r.op || ""} ${r.device || ""}`, error: r.error, outside: r.within_tolerance === false }));

  // One quantity, predicted against measured.
  const validation = (document_, width, _, quantity) => {
    const values = comparedOf(document_, quantity);
    if (values.length === 0) return null;
    const ranges = values.filter((v) => v.low > 0 && v.high > 0);
    const all = values.flatMap((v) => [v.x, v.y]);
    const [from, to] = [Math.min(...all) / 1.5, Math.max(...all) * 1.5];
    const axis = (field, title) => ({ field, type: "quantitative", title, scale: { type: "log", domain: [from, to], nice: false } });
    const x = axis("x", "measured"), y = axis("y", "predicted");
    const states = [[false, "#0072b2", "circle"], [true, "#d55e00", "cross"]].filter(([outside]) => values.some((v) => v.outside === outside));
    return {
      description: `${quantity}, predicted against measured; the tables below have the figures`,
      keys: [["line", "predicted as measured"], ["band", "range of the prediction"], ...(states.length > 1 || states[0][0] ? [["", "crosses: out of tolerance"]] : [])],
      height: 260,
      layer: [
        { data: { values: [{ x: from, y: from }, { x: to, y: to }] }, mark: { type: "line", color: "currentColor", opacity: 0.5 }, encoding: { x, y } },
        ...(ranges.length === 0 ? [] : [
          { data: { values: ranges }, mark: { type: "rule", opacity: 0.35, clip: true, color: "#0072b2", strokeWidth: 3 },
            encoding: { x, y: axis("low", "predicted"), y2: { field: "high" } } }]),
        ...states.map(([outside, color, shape]) => (
          { data: { values: values.filter((v) => v.outside === outside) }, mark: { type: "point", filled: true, size: 40, opacity: 0.8, color, shape },
            encoding: { x, y, tooltip: [...tips(["name"]), { field: "x", type: "quantitative", title: "measured", format: ".4~g" },
              { field: "y", type: "quantitative", title: "predicted", format: ".4~g" }, { field: "error", type: "quantitative", format: "+.1%" }] } })),
      ],
    };
  };

  // How many of a quantity's predictions are how far off.
  const errors = (document_, width, _, quantity) => {
    const values = comparedOf(document_, quantity).filter((v) => v.error != null);
    if (values.length === 0) return null;
    return {
      description: `${quantity}: how many predictions are how far off`,
      height: 90,
      layer: [
        { data: { values }, mark: { type: "bar", color: "#0072b2" },
          encoding: { x: { field: "error", type: "quantitative", bin: { maxbins: 24, minstep: 0.01 }, title: "error of the prediction", axis: { format: "+~%" } },
            y: { aggregate: "count", type: "quantitative", title: "figures", axis: { labelExpr: "datum.value % 1 ? '' : format(datum.value, 'd')" } },
            tooltip: [{ aggregate: "count", type: "quantitative", title: "figures" }] } },
        { data: { values: [{ zero: 0 }] }, mark: { type: "rule", color: "currentColor", strokeDash: [3, 3] }, encoding: { x: { field: "zero", type: "quantitative" } } },
      ],
    };
  };

  return { charts: { pareto, heat, compared_parts, compared_steps, compared_prices, validation, errors }, variants: { heat: heatVariants } };
};
