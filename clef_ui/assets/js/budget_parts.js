// Pieces of the Budget panel: the stacked bar, tables that can be sorted, and rows of the state.
window.clef.budgetParts = (() => {
  "use strict";
  const { h, replace, shown, tokens } = window.clef;
  const FREE_SHARE = 0.4; // of what is used: a nearly empty row is not drawn to the scale of its limit
  const FIRST_ROWS = 40; // of a long table; the rest is drawn when asked for

  const share = (count, total) => total ? (100 * count / total).toFixed(1) + " %" : "–";
  const span = (start, count) => `[${start}:${start + count})`;

  // The whole row against its limit. What lies beyond the limit stands behind a line, hatched.
  function bar(view, actions) {
    const kept = view.parts.filter((part) => part.group !== "cut");
    const lost = view.parts.filter((part) => part.group === "cut").reduce((sum, part) => sum + part.tokens, 0);
    const used = kept.reduce((sum, part) => sum + part.tokens, 0);
    const free = Math.max(0, view.limit - used);
    const drawnFree = Math.min(free, used * FREE_SHARE);
    const whole = used + lost + drawnFree;
    const cell = (part) => h("button", { type: "button", class: "cell g-" + part.group, style: { flexGrow: String(part.tokens / whole) },
      title: `${part.label}: ${tokens(part.tokens)} tokens, ${share(part.tokens, view.total)}`,
      "aria-label": `${part.label}: ${tokens(part.tokens)} tokens, ${share(part.tokens, view.total)}. Show in the prompt.`, onclick: () => actions.show(part) },
      h("span.label", {}, h("span.name", {}, shown(part.label)), " ", h("b", {}, tokens(part.tokens))));
    const exactly = view.exact ? "" : "about ";
    const ledger = h("div.ledger", { role: "group", "aria-label": "Tokens of the whole row" }, kept.filter((part) => part.tokens > 0).map(cell),
        free > 0 && h("span.cell.free", { style: { flexGrow: String(drawnFree / whole) } }, h("span.label", {}, h("span.name", {}, "free"), " ", h("b", {}, tokens(free)))),
        lost > 0 && h("span.cell.g-cut.lost", { style: { flexGrow: String(lost / whole) }, title: `${tokens(lost)} tokens of the state are not in the prompt` }, h("span.label", {}, h("span.name", {}, "cut"), " ", h("b", {}, tokens(lost)))));
    // A part too narrow for its name or number shows none: both are in the table below, and spoken.
    new ResizeObserver(() => {
      for (const each of ledger.children) {
        const width = each.offsetWidth;
        each.classList.toggle("tiny", width < 50);
        each.classList.toggle("narrow", width < 90);
      }
    }).observe(ledger);
    return h("div.row-bar", {}, ledger,
      h("div.scale", {}, h("span", {}, `${exactly}${tokens(used)} of ${tokens(view.limit)} tokens used`, free > drawnFree && h("span.muted", {}, " (free space not to scale)")),
        h("span", {}, lost ? h("b.bad", {}, `${tokens(lost)} cut`) : used > view.limit ? h("b.bad", {}, `${tokens(used - view.limit)} over`) : "nothing cut")));
  }

  // columns: [{key, title, number?, cell(row)}]; rows are sorted by a column's value(row), or key.
  function table(caption, columns, rows, sort) {
    const state = { by: sort ? sort.by : null, down: sort ? sort.down : false, all: false };
    const body = h("tbody");
    const more = h("button.btn.small", { type: "button", onclick: () => { state.all = true; draw(); } });
    const heads = columns.map((column) => {
      const button = h("button.sort", { type: "button", onclick: () => {
        state.down = state.by === column.key ? !state.down : Boolean(column.number);
        state.by = column.key;
        draw();
      } }, column.title, h("span.arrow", { "aria-hidden": "true" }));
      return h("th", { scope: "col", class: column.number ? "n" : "" }, button);
    });
    const element = h("div.table", {}, h("div.scroll", { tabIndex: 0, role: "region", "aria-label": caption },
      h("table", {}, h("caption.clef-visually-hidden", {}, caption), h("thead", {}, h("tr", {}, heads)), body)), more);

    function draw() {
      const column = columns.find((each) => each.key === state.by);
      const value = column && (column.value || ((row) => row[column.key]));
      const compare = (a, b) => typeof a === "number" ? a - b : String(a).localeCompare(String(b));
      const sorted = column ? [...rows].sort((a, b) => (state.down ? -1 : 1) * compare(value(a), value(b))) : rows;
      const drawn = state.all ? sorted : sorted.slice(0, FIRST_ROWS);
      replace(body, drawn.map((row) => h("tr", { class: row.status || "", "data-row": row.mark }, columns.map((each, index) =>
        h(index === 0 ? "th" : "td", index === 0 ? { scope: "row" } : { class: each.number ? "n" : "" }, each.cell(row))))));
      heads.forEach((head, index) => {
        const is = columns[index].key === state.by;
        head.setAttribute("aria-sort", is ? (state.down ? "descending" : "ascending") : "none");
        head.querySelector(".arrow").textContent = is ? (state.down ? " ↓" : " ↑") : "";
      });
      more.hidden = drawn.length === rows.length;
      more.textContent = `Show all ${tokens(rows.length)} rows`;
    }
    draw();
    return element;
  }

  const swatch = (group) => h("span.sw.g-" + group, { "aria-hidden": "true" });
  const show = (text, onclick) => h("button.link.cell-link", { type: "button", onclick }, text);

  // Values of a JSON state, indented by depth, or paragraphs; what is lost is struck and says so.
  function stateTable(view, actions) {
    const { state } = view;
    const words = { kept: "", cut: "cut in two", lost: "lost" };
    const rows = state.rows.map((row, place) => ({ ...row, place }));
    const most = Math.max(1, ...rows.map((row) => row.tokens));
    const isJson = state.kind === "json";
    return table(isJson ? "Tokens of each value of the state" : "Tokens of each paragraph of the state", [
      { key: "place", title: isJson ? "value" : "part", cell: (row) => h("span.key", { style: { paddingLeft: `${(row.depth - 1) * 14}px` }, title: row.path }, show(shown(row.name), () => actions.show({ stateOffset: row.at }))) },
      { key: "tokens", title: "tokens", number: true, cell: (row) => tokens(row.tokens) },
      { key: "share", title: "share", number: true, value: (row) => row.tokens, cell: (row) => h("span.mini-bar", {}, h("i", { style: { width: `${100 * row.tokens / most}%` } }), h("span", {}, share(row.tokens, view.uncut))) },
      { key: "status", title: "read", cell: (row) => row.status === "kept" ? "yes" : h("b.bad", {}, words[row.status]) },
      { key: "text", title: "text", cell: (row) => h("code.excerpt", {}, shown(row.text)) },
    ], rows);
  }

  return { bar, table, stateTable, swatch, show, share, span };
})();
