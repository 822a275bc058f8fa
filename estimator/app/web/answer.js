// An answer, drawn. Nothing is computed here but units and widths.
const drawn = (() => {
  "use strict";
  const { ROLES, VERDICTS, size, time, number, element, section, table, bar, bars, key, swatch } = marks;
  const MOST_MODULES = 36, MOST_KERNELS = 12;

  const cardLine = () => element("li", {}, element("span", { class: "line" }), "usable on the GPU");
  const fact = (title, figure, more) =>
    element("div", {}, element("dt", {}, title), element("dd", {}, figure, element("span", {}, more)));

  // The verdict, and the three figures that people come for.
  const head = (answer) => {
    if (answer.schema !== "plimsoll.estimate") return [element("h1", {}, "No answer")];
    const { input, result } = answer;
    const m = result.memory, t = result.time, usable = result.device.usable_bytes;
    const [word] = VERDICTS[result.verdict] || ["", ""];
    const range = ([low, high], text) => `range ${text(low)} to ${text(high)}`;
    return [
      element("h1", {}, element("span", { class: `verdict ${result.verdict}` }, word), result.device.name),
      element("p", {}, `${input.model}, batch ${input.batch}`),
      element("dl", { class: "facts" },
        fact("peak memory", `${size(m.device_bytes)} of ${size(usable)}`, range(m.device_range_bytes, size)),
        fact("one step", time(t.step_ns), range(t.step_range_ns, time)),
        fact("throughput", `${number(t.samples_per_second)} ${t.sample_unit}/s`, `kernels run ${Math.round(100 * t.gpu_busy)} % of a step`)),
    ];
  };

  // What would help, from today's peak down, against the card's line.
  const remedies = ({ result }) => {
    const usable = result.device.usable_bytes, today = result.memory.device_bytes;
    const whole = 1.03 * Math.max(usable, today, ...result.remedies.map((r) => r.device_bytes));
    const row = (name, bytes, verdict, text) =>
      bar(name, [[VERDICTS[verdict][1], bytes]], whole, text, usable);
    const all = result.remedies.map((r) => row(`${r.flags}${r.effect ? ` (${r.effect})` : ""}`, r.device_bytes, r.verdict,
      `${size(r.device_bytes)}, ${number(r.samples_per_second)} ${result.time.sample_unit}/s`));
    return section("What would help", "Each line is a separate estimate.",
      bars([row("as requested", today, result.verdict, `${size(today)}, ${number(result.time.samples_per_second)} ${result.time.sample_unit}/s`), ...all]),
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
    return section("Memory over one step", "In the order of the kernels. The lowest band is the context.",
      element("p", { class: "ends" }, element("span", {}, `highest ${size(most)}`),
        element("span", {}, shown ? `line: usable on the GPU, ${size(usable)}` : `usable on the GPU: ${size(usable)}`)),
      chart,
      element("div", { class: "phases" }, ...phases.map((phase) => element("span", { style: `flex-grow:${count(phase)}` }, phase))),
      key(...roles.map((role) => swatch(role))));
  };

  // The modules, taken apart level by level as long as there is room for their parts.
  const cut = (modules) => {
    const within = (m) => modules.filter((part) => part.depth === m.depth + 1 && part.path.startsWith(`${m.path}.`));
    let shown = modules.filter((m) => m.depth === 1);
    for (;;) {
      const apart = shown.flatMap((m) => { const parts = within(m); return parts.length > 0 ? parts : [m]; })
        .filter((m) => m.weight_bytes + m.feature_map_bytes > 0);
      if (apart.length > MOST_MODULES || apart.length === shown.length) return shown.filter((m) => m.weight_bytes + m.feature_map_bytes > 0);
      shown = apart;
    }
  };
  const modules = ({ result }) => {
    const all = cut(result.modules);
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
    const kernels = t.kernels.slice(0, MOST_KERNELS).map((k) => [k.kernel, String(k.count), time(k.total_ns), `${(100 * k.share).toFixed(1)} %`, k.bound_by === "dram" ? "memory" : k.bound_by]);
    return section("Where time goes", null, bars(passes.map(([name, ns]) => bar(name, [["plain", ns]], longest, time(ns)))),
      element("details", {}, element("summary", {}, "kernels that take longest"),
        table("kernels by time", [["kernel"], ["count", true], ["time", true], ["share", true], ["limited by"]], kernels)));
  };

  const messages = (diagnostics, title) => (diagnostics.length === 0 ? null
    : section(title, null, element("ul", { class: "messages" }, ...diagnostics.map((d) =>
      element("li", {}, `${d.code}: ${d.message}${d.help ? ` (${d.help})` : ""}`)))));
  const assumed = (all) => (all.length === 0 ? null : section("What was assumed", null,
    element("ul", { class: "messages" }, ...all.map((a) => element("li", {}, `${a.text}; ${a.change} changes it`)))));

  const contents = (answer, width) => {
    if (answer.schema !== "plimsoll.estimate") return [messages(answer.diagnostics, "Why")];
    const helps = answer.result.remedies.length > 0 ? remedies(answer) : null;
    return [helps, parts(answer), course(answer), modules(answer), roofline.drawn(answer, width), times(answer), gpus.drawn(answer), assumed(answer.assumed),
            messages(answer.diagnostics, "Notes")].filter((part) => part !== null);
  };

  return { head, contents, messages };
})();
