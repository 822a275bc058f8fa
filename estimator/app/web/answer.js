// An answer, drawn. Nothing is computed here but units and widths; texts are set as text.
const drawn = (() => {
  "use strict";
  const ROLES = {
    context: "context and libraries", parameter: "weights", optimizer_state: "optimizer state", buffer: "buffers",
    gradient: "gradients", input: "input batch", feature_map: "feature maps", temporary: "temporaries",
    workspace: "workspace", autotuning: "scratch of timed algorithms", slack: "allocator slack",
  };
  const VERDICTS = { fits: ["FITS", "yes"], may_fit: ["MAY FIT", "perhaps"], does_not_fit: ["DOES NOT FIT", "no"] };
  const MOST_MODULES = 24, MOST_KERNELS = 12;

  const GIB = 2 ** 30;
  const size = (bytes) => (bytes < GIB / 10 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`);
  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [0, "ns"]];
  const time = (ns) => {
    const [unit, name] = UNITS.find(([least]) => ns >= least);
    return `${(ns / (unit || 1)).toPrecision(3).replace(/e\+?\d+$/, "")} ${name}`;
  };
  const number = (n) => (n >= 100 ? Math.round(n).toLocaleString("en") : n.toPrecision(3));

  const element = (name, attributes = {}, ...children) => {
    const made = name === "svg" || name === "path" || name === "line"
      ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, text] of Object.entries(attributes)) made.setAttribute(key, text);
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const section = (title, about, ...children) =>
    element("section", {}, element("h2", {}, title), about ? element("p", {}, about) : null, ...children);
  const fact = (title, figure, more) =>
    element("div", {}, element("dt", {}, title), element("dd", {}, figure, element("span", {}, more)));

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
  const swatch = (role) => element("li", {}, element("span", { class: `swatch ${role}` }), ROLES[role] || role);
  const cardLine = () => element("li", {}, element("span", { class: "line" }), "usable on the GPU");

  const head = ({ input, result }) => {
    const m = result.memory, t = result.time, usable = result.device.usable_bytes;
    const [word] = VERDICTS[result.verdict] || ["", ""];
    const range = ([low, high], text) => `range ${text(low)} - ${text(high)}`;
    return element("div", { class: "answer" },
      element("p", {}, `${input.model}, batch ${input.batch}`),
      element("h1", {}, element("span", { class: `verdict ${result.verdict}` }, word), result.device.name),
      element("dl", { class: "facts" },
        fact("peak memory", `${size(m.device_bytes)} of ${size(usable)}`, range(m.device_range_bytes, size)),
        fact("one step", time(t.step_ns), range(t.step_range_ns, time)),
        fact("throughput", `${number(t.samples_per_second)} ${t.sample_unit}/s`, `GPU busy ${Math.round(100 * t.gpu_busy)} %`)));
  };

  // What would help, from today's peak down, against the card's line.
  const remedies = ({ result }) => {
    const usable = result.device.usable_bytes, today = result.memory.device_bytes;
    const whole = 1.03 * Math.max(usable, today, ...result.remedies.map((r) => r.device_bytes));
    const row = (name, bytes, verdict, text) =>
      bar(name, [[VERDICTS[verdict][1], bytes]], whole, text, usable);
    const all = result.remedies.map((r) => row(`${r.flags}${r.effect ? ` (${r.effect})` : ""}`, r.device_bytes, r.verdict,
      `${size(r.device_bytes)}, ${number(r.samples_per_second)} ${result.time.sample_unit}/s`));
    return section("What would help", "Each line is an estimate of its own.",
      bars([row("as asked", today, result.verdict, `${size(today)}, ${number(result.time.samples_per_second)} ${result.time.sample_unit}/s`), ...all]),
      key(cardLine()));
  };

  const parts = ({ result }) => {
    const m = result.memory, usable = result.device.usable_bytes;
    const whole = 1.03 * Math.max(usable, m.device_bytes);
    const all = m.peak.parts.map((p) => [p.part, p.bytes, `${ROLES[p.part] || p.name}: ${size(p.bytes)}`]);
    const largest = m.peak.parts.reduce((most, p) => Math.max(most, p.bytes), 1);
    return section("Where memory goes", `At the peak, in ${m.peak.phase}${m.peak.node ? ` at ${m.peak.node}` : ""}.`,
      bars([bar("all", all, whole, size(m.device_bytes), usable)], "whole"), key(cardLine()),
      bars(m.peak.parts.map((p) => bar(p.name, [[p.part, p.bytes]], largest, size(p.bytes)))));
  };

  // Stacked areas of the roles over the step; their figures are in the key and in the bars.
  const course = ({ result }) => {
    const moments = result.memory.curve || [];
    if (moments.length < 2) return null;
    const context = result.memory.context_bytes, usable = result.device.usable_bytes;
    const roles = Object.keys(ROLES).filter((role) => role === "context" || moments.some((p) => p.by_role[role] > 0));
    const most = moments.reduce((top, p) => Math.max(top, p.bytes), 0) + context;
    const shown = usable < 3 * most, top = shown ? 1.04 * Math.max(most, usable) : 1.04 * most;
    const width = 1000, height = 210, last = moments.at(-1).launch || 1;
    const x = (p) => ((width * p.launch) / last).toFixed(1), y = (bytes) => (height * (1 - bytes / top)).toFixed(1);
    const chart = element("svg", { class: "course", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
                                   "aria-label": "memory over one step, stacked by role" });
    let below = moments.map(() => 0);
    for (const role of roles) {
      const above = moments.map((p, i) => below[i] + (role === "context" ? context : p.by_role[role] || 0));
      const up = moments.map((p, i) => `${i ? `H${x(p)}V` : `M${x(p)} `}${y(above[i])}`).join("");
      const down = moments.map((p, i) => [p, below[i]]).reverse()
        .map(([p, bytes], i) => (i ? `V${y(bytes)}H${x(p)}` : `L${x(p)} ${y(bytes)}`)).join("");
      chart.append(element("path", { class: `area ${role}`, d: `${up}${down}Z` }));
      below = above;
    }
    if (shown) chart.append(element("line", { x1: 0, x2: width, y1: y(usable), y2: y(usable), stroke: "currentColor", "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }));
    const phases = [...new Set(moments.map((p) => p.phase))].filter((phase) => phase !== "loss");
    const count = (phase) => moments.filter((p) => p.phase === phase).length;
    return section("Memory over one step", "By the kernels that are launched; the context is below all of it.",
      element("p", { class: "ends" }, element("span", {}, `highest ${size(most)}`),
        element("span", {}, shown ? `line: usable on the GPU, ${size(usable)}` : `usable on the GPU: ${size(usable)}`)),
      chart,
      element("div", { class: "phases" }, ...phases.map((phase) => element("span", { style: `flex-grow:${count(phase)}` }, phase))),
      key(...roles.map(swatch)));
  };

  const modules = ({ result }) => {
    const depths = [...new Set(result.modules.map((m) => m.depth))];
    const at = (depth) => result.modules.filter((m) => m.depth === depth);
    const depth = depths.filter((d) => at(d).length <= MOST_MODULES).at(-1);
    if (depth === undefined) return null;
    const all = at(depth).filter((m) => m.weight_bytes + m.feature_map_bytes > 0);
    if (all.length < 2) return null;
    const largest = all.reduce((most, m) => Math.max(most, m.weight_bytes + m.feature_map_bytes), 1);
    return section("Memory by module", "Weights, and feature maps kept for backward.",
      bars(all.map((m) => bar(m.path, [["parameter", m.weight_bytes], ["feature_map", m.feature_map_bytes]], largest,
        size(m.weight_bytes + m.feature_map_bytes)))), key(swatch("parameter"), swatch("feature_map")));
  };

  const times = ({ result }) => {
    const t = result.time;
    const passes = [["forward", t.forward_ns], ["backward", t.backward_ns], ["update", t.update_ns],
                    ["communication", t.communication_ns], ["input copy", t.input_copy_ns], ["launches on the host", t.host_ns]]
      .filter(([, ns]) => ns > 0);
    const longest = Math.max(...passes.map(([, ns]) => ns));
    const kernels = t.kernels.slice(0, MOST_KERNELS).map((k) => element("tr", {},
      element("th", { scope: "row" }, k.kernel), element("td", { "data-v": "" }, String(k.count)),
      element("td", { "data-v": "" }, time(k.total_ns)), element("td", { "data-v": "" }, `${(100 * k.share).toFixed(1)} %`),
      element("td", {}, k.bound_by)));
    const heads = ["kernel", "count", "time", "share", "bound by"];
    return section("Where time goes", null, bars(passes.map(([name, ns]) => bar(name, [["plain", ns]], longest, time(ns)))),
      element("details", {}, element("summary", {}, "kernels that take longest"),
        element("div", { class: "scroll", tabindex: "0" }, element("table", {},
          element("thead", {}, element("tr", {}, ...heads.map((h, i) => element("th", { scope: "col", class: i && i < 4 ? "figure" : "" }, h)))),
          element("tbody", {}, ...kernels)))));
  };

  const messages = (diagnostics, title) => (diagnostics.length === 0 ? null
    : section(title, null, element("ul", { class: "messages" }, ...diagnostics.map((d) =>
      element("li", {}, `${d.code}: ${d.message}${d.help ? ` (${d.help})` : ""}`)))));
  const assumed = (all) => (all.length === 0 ? null : section("What was assumed", null,
    element("ul", { class: "messages" }, ...all.map((a) => element("li", {}, `${a.text}; ${a.change} changes it`)))));

  const contents = (answer) => {
    if (answer.schema !== "plimsoll.estimate")
      return [element("div", { class: "answer" }, element("h1", {}, "No answer")), messages(answer.diagnostics, "Why")];
    const helps = answer.result.remedies.length > 0 ? remedies(answer) : null;
    return [head(answer), helps, parts(answer), course(answer), modules(answer), times(answer), assumed(answer.assumed),
            messages(answer.diagnostics, "Notes")];
  };

  return { contents, element, size };
})();
