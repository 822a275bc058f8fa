// A sweep of two axes: a line of the table is a question of its own, which the engine answers over all sizes at once.
const sweep = (() => {
  "use strict";
  const { VERDICTS, size, time, number, count, element, section, scrolling, table, key, swatch } = marks;
  const GPUS = ["tesla-t4", "rtx-3090", "rtx-4090", "rtx-5090", "l4", "a10g", "l40s", "a100-sxm-40gb", "a100-sxm-80gb",
                "h100-sxm-80gb", "h200", "b200"];
  const SIZES = { batch: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], other: [128, 256, 512, 1024, 2048, 4096, 8192, 16384] };
  const MOST_LINES = 40, MOST_COLUMNS = 24;

  const place = document.getElementById("sweep");
  let axes = [], begun = 0, retry = () => {}, open = () => {};

  const isSize = (axis) => axis.name === "batch" || axis.name.startsWith("dim.");
  const usual = (axis) => (axis.name === "gpu" ? GPUS
    : isSize(axis) ? SIZES[axis.name] || SIZES.other
    : axis.words || axis.ladder || [controls.now(axis.name)]).map(String);
  const listOf = (text) => [...new Set(text.split(",").map((value) => value.trim()).filter((value) => value !== ""))];
  const wanted = (which, axis) => {
    const given = listOf(question.get(`sweep_${which}_values`));
    const values = given.length > 0 ? given : usual(axis);
    return isSize(axis) ? values.filter((value) => /^[1-9]\d*$/.test(value)).sort((a, b) => a - b) : values;
  };
  const chosen = (which, fitting, other) => fitting.find((a) => a.name === question.get(`sweep_${which}`)) || other;
  const plan = () => {
    const across = chosen("across", axes.filter(isSize), axes.find((a) => a.name === "batch"));
    const down = chosen("down", axes.filter((a) => a !== across), axes.find((a) => a.name === "gpu"));
    return { across, down, columns: wanted("across", across).slice(0, MOST_COLUMNS), lines: wanted("down", down).slice(0, MOST_LINES) };
  };

  // What goes over what, and its values: as the link has them.
  const fieldsOf = ({ across, down, columns, lines }) => {
    const pick = (which, text, list, now) => {
      const select = element("select", { name: `sweep_${which}` }, ...list.map((a) => element("option", { value: a.name }, a.text)));
      select.value = now.name;
      select.addEventListener("change", () => {
        question.set(`sweep_${which}`, select.value);
        question.set(`sweep_${which}_values`, "");
        retry();
      });
      return element("label", {}, element("span", {}, text), select);
    };
    const values = (which, text, now) => {
      const field = element("input", { type: "text", name: `sweep_${which}_values`, spellcheck: "false" });
      field.value = now.join(", ");
      field.addEventListener("change", () => { question.set(`sweep_${which}_values`, field.value); retry(); });
      return element("label", {}, element("span", {}, text), field);
    };
    return element("div", { class: "plan" },
      pick("down", "a line for each", axes.filter((a) => a.name !== across.name), down), values("down", "values", lines),
      pick("across", "a column for each", axes.filter((a) => isSize(a) && a.name !== down.name), across), values("across", "values", columns));
  };

  const nameOf = (axis, value) => (axis.name === "gpu" || axis.words ? value : `${axis.text} ${value}`);
  const cell = (point, go) => {
    if (point.diagnostics) return element("td", { class: "none", title: point.diagnostics[0].message }, "\u2013");
    const [word, kind] = VERDICTS[point.verdict];
    const text = point.verdict === "does_not_fit" ? size(point.device_bytes).replace(" ", "\u00a0") : time(point.step_ns).replace(" ", "\u00a0");
    const about = `${word}: ${size(point.device_bytes)} of ${size(point.usable_bytes)}, ${time(point.step_ns)}, `
      + `${number(point.samples_per_second)} ${point.sample_unit}/s`;
    const button = element("button", { type: "button", title: about, "aria-label": about }, text);
    button.addEventListener("click", go);
    return element("td", { class: kind }, button);
  };
  // How many columns are safe: there the line of the largest size stands. Nothing where no answer is.
  const safeColumns = (row) => (row?.points ? String(row.points.filter((p) => !p.diagnostics && p.size <= row.largest.safe).length) : "");
  // The line goes on, from one line's end to the next one's.
  const drawLine = (body) => {
    const rows = [...body.rows].filter((tr) => tr.dataset.safe);
    rows.forEach((tr, at) => {
      const safe = Number(tr.dataset.safe), next = rows[at + 1] ? Number(rows[at + 1].dataset.safe) : safe;
      [...tr.cells].slice(1, -1).forEach((td, column) => {
        td.classList.toggle("end", column === safe - 1);
        td.classList.toggle("step", (column < safe) !== (column < next));
      });
      tr.cells[0].classList.toggle("end", safe === 0);
    });
  };
  const rowOf = (axis, value, row, columns, across) => {
    const made = element("tr", { "data-safe": safeColumns(row) }, element("th", { scope: "row" }, nameOf(axis, value)));
    if (!row) { made.append(...columns.map(() => element("td", {}, "\u00a0")), element("td", { "data-v": "" }, "\u00a0")); return made; }
    if (row.schema !== "plimsoll.row") {
      const { code, message, help } = row.diagnostics[0];
      made.append(element("td", { class: "none", colspan: String(columns.length + 1) }, `${code}: ${message}${help ? ` (${help})` : ""}`));
      return made;
    }
    made.append(...row.points.map((point) => cell(point, () => open({ [axis.name]: value, [across.name]: String(point.size) }))));
    made.append(element("td", { "data-v": "", class: "largest" }, row.largest.safe > 0 ? count(row.largest.safe) : "none"));
    return made;
  };

  // The fastest column that fits, of every line.
  const best = (found, axis) => {
    const all = found.filter(([, row]) => row.schema === "plimsoll.row").map(([value, row]) => {
      const fits = row.points.filter((p) => p.verdict === "fits");
      const point = fits.reduce((most, p) => (!most || p.samples_per_second > most.samples_per_second ? p : most), null);
      return { value, row, point };
    }).sort((a, b) => (b.point?.samples_per_second ?? 0) - (a.point?.samples_per_second ?? 0));
    const unit = all.find((a) => a.point)?.point.sample_unit || "samples";
    const size_ = all[0]?.row.size || "batch";
    return section(`Best for each ${axis.text}`, "The fastest column that fits, the highest rate first.",
      table(`fastest ${size_} that fits`, [[axis.text], [size_, true], ["one step", true], [`${unit}/s`, true], ["memory", true], [`largest ${size_}`, true]],
        all.map(({ value, row, point }) => [value, ...(point
          ? [String(point.size), time(point.step_ns), number(point.samples_per_second), size(point.device_bytes)] : ["none", "", "", ""]),
        row.largest.safe > 0 ? count(row.largest.safe) : "none"])));
  };

  // Asks line by line; a newer sweep ends this one between two lines.
  const run = async (lane, usable) => {
    const own = ++begun;
    axes = usable;
    const planned = plan(), { across, down, columns, lines } = planned;
    const symbol = across.name.replace(/^dim\./, "");
    document.body.dataset.swept = "false";
    const body = element("tbody", {}, ...lines.map((value) => rowOf(down, value, null, columns, across)));
    const heads = [...columns.map((c) => element("th", { scope: "col", class: "figure" }, c)), element("th", { scope: "col", class: "figure" }, "largest")];
    const told = element("p", { class: "progress", role: "status" });
    const under = element("div", {});
    place.replaceChildren(
      section(`${down.text} by ${symbol}`, `A cell shows the time of a step if it fits, or the memory that it needs if it does not. A click opens its answer.`, fieldsOf(planned), told,
        scrolling("heat map of the sweep",
          element("table", { class: "heat" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, symbol), ...heads)), body)),
        key(swatch("yes", "fits"), swatch("perhaps", "may fit"), swatch("no", "does not fit"),
          element("li", {}, element("span", { class: "line" }), `largest ${symbol} that is safe`))), under);
    const found = [];
    for (const [at, value] of lines.entries()) {
      told.textContent = `${at} of ${lines.length}`;
      const text = question.text({ [down.name]: value, [across.name]: null }, { sweep: { size: symbol, values: columns.map(Number) } });
      const row = JSON.parse((await lane.ask("plimsoll_row", text)).answer);
      if (own !== begun) return;
      found.push([value, row]);
      body.rows[at].replaceWith(rowOf(down, value, row, columns, across));
      drawLine(body);
    }
    told.textContent = "";
    under.replaceChildren(best(found, down));
    document.body.dataset.swept = "true";
  };

  return {
    run,
    end: () => { ++begun; },
    // `again`: after a change of the axes; `asked`: a cell's settings.
    use: (again, asked) => { retry = again; open = asked; },
  };
})();
