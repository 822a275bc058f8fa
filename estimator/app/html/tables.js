// Tables that sort and filter, say that they scroll, and modules that fold. A page without this reads as well: nothing is hidden.
(() => {
  "use strict";

  // Rows in a tree by their data-depth; tables of one level have none.
  const treeOf = (body) => {
    const root = { depth: 0, inside: [] };
    const path = [root];
    for (const row of body.rows) {
      const node = { row, depth: Number(row.dataset.depth || 1), inside: [] };
      while (path.at(-1).depth >= node.depth) path.pop();
      path.at(-1).inside.push(node);
      path.push(node);
    }
    return root;
  };

  const figureOf = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return -Infinity;
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };

  const sorted = (node, column, down) => {
    const keys = new Map(node.inside.map((n) => [n, figureOf(n.row, column)]));
    const order = (a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      const less = typeof x === "string" || typeof y === "string"
        ? String(x).localeCompare(String(y), "en", { numeric: true }) : x - y;
      return down ? -less : less;
    };
    return [...node.inside].sort(order).flatMap((n) => [n.row, ...sorted(n, column, down)]);
  };

  const makeSortable = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const down = now === "none" ? head.classList.contains("figure") : now === "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...sorted(treeOf(body), column, down));
      });
    });
  };

  // Shows what is inside a module where all the modules around it are open.
  const show = (node, visible) => {
    if (node.row) node.row.hidden = !visible;
    const button = node.row && node.row.querySelector(".fold");
    const open = !button || button.getAttribute("aria-expanded") === "true";
    for (const inner of node.inside) show(inner, visible && open);
  };

  const foldButton = (body, name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.setAttribute("aria-label", `layers of ${name}`);
    button.setAttribute("aria-expanded", "true");
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      show(treeOf(body), true);
    });
    return button;
  };

  const foldAll = (table, folds) => {
    const all = document.createElement("button");
    all.type = "button";
    all.className = "unfold";
    all.textContent = "unfold all modules";
    all.addEventListener("click", () => {
      const open = folds.some((f) => f.getAttribute("aria-expanded") === "false");
      for (const f of folds) f.setAttribute("aria-expanded", String(open));
      all.textContent = open ? "fold all modules" : "unfold all modules";
      show(treeOf(table.tBodies[0]), true);
    });
    return all;
  };

  const kMostRows = 40; // beyond, modules begin folded

  const makeFoldable = (table) => {
    const body = table.tBodies[0];
    const modules = [...body.querySelectorAll("tr.module")];
    if (modules.length === 0) return;
    const folds = modules.map((row) => {
      const button = foldButton(body, row.cells[0].textContent);
      if (body.rows.length > kMostRows) button.setAttribute("aria-expanded", "false");
      row.cells[0].prepend(button);
      return button;
    });
    table.closest(".scroll").before(foldAll(table, folds));
    show(treeOf(body), true);
  };

  // A field in which words are written that a row must have, all of them.
  const makeFiltered = (table) => {
    const rows = [...table.tBodies[0].rows].map((row) =>
      [row, [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase()]);
    const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "words of a row" });
    const told = document.createElement("output");
    const label = document.createElement("label");
    label.className = "filter";
    label.append("Filter: ", input, " ", told);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      told.textContent = words.length > 0 ? `${shown} of ${rows.length} rows` : "";
    });
    table.closest(".scroll").before(label);
  };

  // A line above each table that is wider than its place.
  const tellScrolling = (region) => {
    const hint = Object.assign(document.createElement("p"), { className: "scrolls", textContent: "scrolls sideways \u2192" });
    hint.setAttribute("aria-hidden", "true"); // the region's own label is read
    const tell = () => {
      const wider = region.scrollWidth > region.clientWidth + 1;
      if (wider && !hint.isConnected) region.before(hint);
      if (!wider) hint.remove();
    };
    new ResizeObserver(tell).observe(region);
    tell();
  };

  for (const table of document.querySelectorAll("table.filtered")) makeFiltered(table);
  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  for (const table of document.querySelectorAll("table.layers")) makeFoldable(table);
  for (const region of document.querySelectorAll(".scroll")) tellScrolling(region);
})();
