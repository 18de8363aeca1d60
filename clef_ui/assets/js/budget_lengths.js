// Many states at once: a file of them is counted part by part, so that the page shows progress and can stop.
window.clef.budgetLengths = (panel) => {
  "use strict";
  const { h, replace, shown, tokens, call } = window.clef;
  const PART = 400_000; // characters sent at once
  const MOST_BYTES = 256 * 2 ** 20;
  const WHOLE = "";
  const state = { file: null, text: "", table: null, column: null, lengths: [], problems: [], running: 0 };

  const input = h("input.clef-visually-hidden", { type: "file", accept: ".jsonl,.ndjson,.json,.csv,.tsv,.txt", "aria-label": "File of states", onchange: () => { if (input.files[0]) read(input.files[0]); input.value = ""; } });
  const drop = h("div.drop", {}, h("p", {}, "Drop a file of states here, JSON lines or CSV, or ", h("button.link", { type: "button", onclick: () => input.click() }, "choose one"), "."),
    h("p.muted", {}, "It is counted with the tokenizer alone; nothing is run or kept."), input);
  const result = h("div.lengths-result", { role: "status" });
  const element = h("section.lengths", {}, h("div.section-head", {}, h("h3", {}, "Many states")), drop, result);

  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (file) read(file);
  });

  const fail = (error) => replace(result, h("p.problem", {}, error.message));

  async function read(file) {
    state.running += 1;
    if (file.size > MOST_BYTES) return fail(new Error(`${file.name}: ${tokens(Math.round(file.size / 2 ** 20))} MiB, and ${MOST_BYTES / 2 ** 20} MiB are read. Choose a part of it.`));
    try {
      state.text = (await file.text()).replace(/^\ufeff/, "");
      state.file = file;
      state.table = await call(panel.server, "table", { start: state.text.slice(0, PART), name: file.name });
      state.column = state.table.suggested;
      await count();
    } catch (error) {
      fail(error);
    }
  }

  // Ends of records in the text: line ends, in a table those outside of quotes.
  function* parts(text, isTable) {
    let start = 0, line = 1;
    if (isTable) {
      start = recordEnd(text, 0, true);
      line += 1;
    }
    while (start < text.length) {
      let end = start, quoted = false;
      const goal = start + PART;
      if (!isTable) {
        end = text.indexOf("\n", goal);
        end = end < 0 ? text.length : end + 1;
      } else {
        for (; end < text.length; end += 1) {
          const code = text.charCodeAt(end);
          if (code === 34) quoted = !quoted;
          else if (code === 10 && !quoted && end >= goal) { end += 1; break; }
        }
      }
      const part = text.slice(start, end);
      yield { part, line, end };
      line += part.split("\n").length - 1;
      start = end;
    }
  }

  function recordEnd(text, start) {
    let quoted = false;
    for (let place = start; place < text.length; place += 1) {
      const code = text.charCodeAt(place);
      if (code === 34) quoted = !quoted;
      else if (code === 10 && !quoted) return place + 1;
    }
    return text.length;
  }

  async function count() {
    const mine = ++state.running;
    const isTable = state.table.format === "csv";
    const header = isTable ? state.text.slice(0, recordEnd(state.text, 0)).trimEnd() : "";
    state.lengths = [];
    state.problems = [];
    const bar = h("progress", { max: 1, value: 0, "aria-label": "States counted" });
    const said = h("span.num", {}, "counting…");
    replace(result, chooser(), h("div.raw-tools", {}, bar, said, h("button.btn.small", { type: "button", onclick: () => { state.running += 1; finish(true).catch(fail); } }, "Stop")));
    // One part is on its way while the one before it is counted.
    const ask = ({ part, line, end }) => call(panel.server, "lengths", { text: part, format: state.table.format, column: state.column, header, line })
      .then((found) => ({ found, end }), (error) => ({ error }));
    const waiting = [];
    const source = parts(state.text, isTable);
    for (let next = source.next(); ; next = source.next()) {
      if (!next.done) waiting.push(ask(next.value));
      if (!waiting.length) break;
      if (!next.done && waiting.length < 2) continue;
      const { found, end, error } = await waiting.shift();
      if (error) throw error;
      if (mine !== state.running) return;
      state.lengths.push(...found.lengths);
      state.problems.push(...found.problems);
      bar.value = end / state.text.length;
      said.textContent = `${tokens(state.lengths.length)} states`;
    }
    await finish(false);
  }

  async function finish(stopped) {
    const spread = await call(panel.server, "spread_of", { draft: window.clef.draft, lengths: state.lengths });
    replace(result, chooser(), stopped && h("p.problem", {}, "Stopped: only the states up to here are counted."), figures(spread), histogram(spread), faults());
  }

  function chooser() {
    const { columns } = state.table;
    const name = (column) => column === WHOLE ? "the whole line" : column;
    return h("p.chooser", {}, h("b", {}, shown(state.file.name)), ` (${tokens(Math.ceil(state.file.size / 1024))} KiB) · the state is `,
      columns.length > 1 ? h("select", { "aria-label": "Column with the state", onchange: (event) => { state.column = columns[Number(event.target.value)]; count().catch(fail); } },
        columns.map((column, index) => h("option", { value: String(index), selected: column === state.column }, name(column)))) : name(columns[0]));
  }

  function figures(spread) {
    const share = (100 * spread.num_cut / spread.count).toFixed(1);
    const row = (name, value, more) => h("tr", {}, h("th", { scope: "row" }, name), h("td.n", {}, value), h("td", {}, more || ""));
    const fits = spread.whole_limit <= spread.limit;
    return h("table", {}, h("caption.clef-visually-hidden", {}, "Lengths of the states"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "states"), h("th.n", { scope: "col" }, "tokens"), h("th", { scope: "col" }, "")))
      , h("tbody", {}, row("number of states", tokens(spread.count), `${tokens(spread.total)} tokens in all`),
        row("P50", tokens(spread.p50)), row("P95", tokens(spread.p95)), row("P99", tokens(spread.p99)), row("longest", tokens(spread.longest)),
        row("cut at the limits now", h(spread.num_cut ? "b.bad" : "b", {}, tokens(spread.num_cut)), `${share} %: these questions take ${tokens(spread.fixed)} tokens, which leaves ${tokens(spread.room)} for the state`),
        row("limit that keeps 99 in 100 whole", tokens(spread.whole_limit), fits ? "the limit now is enough" : h("button.btn.small", { type: "button", onclick: () => raise(spread.whole_limit) }, `Set max_length to ${tokens(spread.whole_limit)}`))));
  }

  function raise(limit) {
    const { draft } = window.clef;
    const limits = { ...draft.limits, maxLength: String(limit), maxStateTokens: "" };
    window.clef.emit("load-draft", { draft: { ...draft, limits }, reason: `Set max_length to ${tokens(limit)}` });
    setTimeout(() => finish(false).catch(fail), 0);
  }

  function histogram(spread) {
    const most = Math.max(...spread.bins.map(([, , count]) => count));
    const text = `Histogram of ${tokens(spread.count)} states from ${tokens(spread.bins[0][0])} to ${tokens(spread.longest)} tokens`;
    return h("figure.histogram", {}, h("div.bins", { role: "img", "aria-label": text }, spread.bins.map(([first, last, count]) =>
      h("i", { class: first > spread.room ? "over" : last > spread.room ? "some" : "", style: { height: `${count ? Math.max(2, 100 * count / most) : 0}%` }, title: `${tokens(first)} to ${tokens(last)} tokens: ${tokens(count)} states` }))),
      h("figcaption", {}, h("span", {}, tokens(spread.bins[0][0])), h("span", {}, "tokens a state; striped: longer than the limits leave"), h("span", {}, tokens(spread.bins.at(-1)[1]))),
      h("details", {}, h("summary", {}, "As a table"), h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "tokens"), h("th.n", { scope: "col" }, "states"))),
        h("tbody", {}, spread.bins.map(([first, last, count]) => h("tr", {}, h("th", { scope: "row" }, `${tokens(first)} to ${tokens(last)}`), h("td.n", {}, tokens(count))))))));
  }

  function faults() {
    if (!state.problems.length) return null;
    return h("details.advice", {}, h("summary", {}, `${tokens(state.problems.length)} lines could not be read and are not counted`),
      h("ul", {}, state.problems.slice(0, 50).map(([line, message]) => h("li", {}, `line ${tokens(line)}: `, shown(message)))));
  }

  return element;
};
