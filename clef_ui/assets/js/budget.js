// The Budget panel: where every token went, what was cut, and ways out with what each brings.
window.clef.panels.budget = (root, panel) => {
  "use strict";
  const { h, replace, shown, tokens, call } = window.clef;
  const { bar, table, stateTable, swatch, show, share, span } = window.clef.budgetParts;
  const GROUPS = { prefix: "prefix", suffix: "prefix", media: "media", media_end: "media", state: "state", state_cut: "cut", instruction: "question", option: "option" };
  const NAMES = { media_end: "end of media", schema_header: "schema header", question_header: "header", options_header: "options header", option_label: "option label", option_end: "line end", question_end: "end of question", state_cut: "state, cut", instruction: "instruction", option: "option" };
  const MOST_TOKENS = 262_144; // the model's positions
  const state = { asked: null, sequence: 0, view: null, visible: false, mode: "parts" };

  root.classList.add("clef-budget");
  const body = h("div.budget-body");
  const lengths = window.clef.budgetLengths(panel);
  replace(root, h("h2.clef-visually-hidden", {}, "Budget"), body, lengths);
  replace(body, h("p.muted.waiting", {}, "The token ledger appears here as soon as there is a state and a valid question; no run is needed."));

  // Brings the place of a part, row or character of the state into the Prompt tab.
  function jump(target) {
    const { rows } = state.view;
    const shownRows = rows.filter((row) => row[0] !== "state_cut");
    const place = (test) => shownRows.findIndex(test);
    let detail;
    if (target.stateOffset !== undefined) detail = { segment: place((row) => row[0] === "state"), offset: target.stateOffset };
    else if (target.option !== undefined && target.option >= 0) detail = { question: target.question, option: target.option };
    else if (target.question !== null && target.question !== undefined && target.question >= 0) detail = { question: target.question, option: null };
    else detail = { segment: Math.max(0, place((row) => row[2] === target.start && row[3] >= target.start)) };
    window.clef.emit("select", detail);
    window.clef.emit("open-tab", "prompt");
  }

  function draw(view) {
    if (view.problems) {
      state.view = null;
      return replace(body, h("div.note.bad", {}, h("b", {}, "The budget can be shown once this is mended:"), h("ul", {}, view.problems.map((p) => h("li.problem", {}, p.where && [h("b", {}, shown(p.where)), ": "], shown(p.message))))));
    }
    state.view = view;
    root.dataset.total = String(view.total);
    replace(body, over(view), bar(view, { show: jump }), limitLine(view), cut(view), ledger(view), stateCosts(view), media(view), traps(view));
    if (view.cut) loadWays();
  }

  function over(view) {
    if (!view.over) return null;
    const { over: too } = view;
    if (!too.schemaAlone) return h("div.note.bad", { role: "alert" }, shown(too.message));
    return h("div.note.bad", { role: "alert" },
      h("b", {}, `${view.media.length ? "Questions and media alone are" : "The questions alone are"} too long by ${tokens(too.mustGo)} tokens. `), `They need ${tokens(too.needed)} tokens before the state; the limit is ${tokens(too.limit)}. Most expensive:`,
      h("ul", {}, too.dearest.map((question) => h("li", {}, show(h("b", {}, shown(question.id)), () => jump({ question: question.question })), ` ${tokens(question.tokens)} tokens`,
        ", of these ", dearestParts(question).map(({ name, cost }, index) => [index ? ", " : "", name, ` ${tokens(cost)}`])))),
      view.uncut <= MOST_TOKENS && h("p", {}, h("button.btn.small", { type: "button", onclick: () => apply("apply_way", { action: { kind: "RaiseMaxLength", to: view.uncut } }, `Raise max_length to ${tokens(view.uncut)}`) }, `Raise max_length to ${tokens(view.uncut)}`), " keeps everything."),
      h("details", {}, h("summary", {}, "In the release's words"), h("p.mono", {}, shown(too.message))));
  }

  // What to shorten in a question: its instructions are often dearer than any option.
  function dearestParts(question) {
    const options = question.options.map((option) => ({ name: ["option ", h("code.k", {}, shown(option.id))], cost: option.tokens }));
    const all = [{ name: "instructions", cost: question.instruction }, ...options];
    return all.filter(({ cost }) => cost > 0).sort((one, other) => other.cost - one.cost).slice(0, 3);
  }

  function limitLine(view) {
    const isDefault = view.limit === view.defaultLimit;
    return h("p.muted.limit-line", {}, h("code", {}, "max_length"), ` ${tokens(view.limit)}${isDefault ? ", the release's default" : `; the release's default is ${tokens(view.defaultLimit)}`}`,
      view.maxStateTokens !== null && [", ", h("code", {}, "max_state_tokens"), ` ${tokens(view.maxStateTokens)}`], `. ${view.maxStateTokens === null ? "It" : "Both"} can be changed under Limits.`);
  }

  function cut(view) {
    if (!view.cut) return null;
    const { cut: lost } = view;
    const names = lost.lostPaths;
    const text = h("div.lost-text", { tabIndex: 0, role: "region", "aria-label": "The lost text" }, "…", shown(lost.lastKept.slice(-40)), h("b.bad", { "aria-label": "cut here" }, "|"), h("del", {}, shown(lost.lostText)));
    const rest = lost.lostCharacters - [...lost.lostText].length;
    return h("section.cut", {},
      h("div.note.bad", {}, h("b", {}, `${tokens(lost.lost)} of ${tokens(lost.state)} state tokens were cut`), ` by ${lost.cause}. `,
        lost.isText ? "The model reads the start and never the end. " : "Keys are sorted before the cut, so names decide what is lost. ",
        names.length > 0 && ["Lost: ", names.map((name, index) => [index ? ", " : "", h("code.k", {}, shown(name))]), ". "],
        lost.cutPath && ["Cut in two: ", h("code.k", {}, shown(lost.cutPath.replace(/^state\.?/, "") || "the whole")), ". "],
        lost.splitsCharacter && "The last character is cut in two. ",
        h("button.btn.small", { type: "button", onclick: () => window.clef.emit("ask-cut") }, "Did it matter?")),
      h("div.two", {},
        h("div.box", {}, h("h3", {}, "What the model did not see"), text,
          rest > 0 && h("button.btn.small", { type: "button", onclick: (event) => wholeLost(text, event.target) }, `Show all ${tokens(lost.lostCharacters)} characters`)),
        h("div.box", {}, h("h3", {}, "Ways out"), h("div.ways", { role: "status" }, h("p.muted", {}, "Working out what each would keep…")))));
  }

  async function wholeLost(element, button) {
    button.disabled = true;
    const lost = element.querySelector("del");
    let start = [...lost.textContent].length, text = state.view.cut.lostText;
    start = [...text].length;
    try {
      for (;;) {
        const part = await call(panel.server, "lost", { draft: window.clef.draft, start });
        lost.append(shown(part.text));
        start += [...part.text].length;
        if (!part.text || start >= part.characters) break;
      }
      button.remove();
    } catch (error) {
      button.after(h("span.problem", {}, " " + error.message));
    }
  }

  async function loadWays() {
    const sequence = state.sequence;
    let content;
    try {
      const { ways } = await call(panel.server, "ways", window.clef.draft);
      content = ways.length ? ways.map(way) : h("p.muted", {}, "Shorten the state; nothing smaller was found.");
    } catch (error) {
      content = h("p.problem", {}, error.message);
    }
    const place = body.querySelector(".ways");
    if (place && sequence === state.sequence) replace(place, content, mediaWays());
  }

  function way(entry) {
    return h("div.fix", {}, h("span.grow", {}, entry.label.map(([style, text]) => style === "code" ? h("code.k", {}, shown(text)) : text), h("small.muted", {}, shown(entry.effect))),
      h("button.btn.small", { type: "button", "aria-label": "Apply: " + entry.label.map(([, text]) => text).join(""), onclick: () => apply("apply_way", { action: entry.action }, entry.label.map(([, text]) => text).join("")) }, "Apply"));
  }

  // Smaller pictures leave more room when the whole row is what is too long.
  function mediaWays() {
    const { view } = state;
    if (!view.cut || view.cut.cause !== "max_length") return null;
    return view.media.filter((item) => item.half || item.halfFrames).map((item) => shrinkWay(item, view.cut.lost));
  }

  function shrinkWay(item, lost) {
    const text = item.half ? `Show ${item.name} at ${item.half.width} × ${item.half.height}` : `Show ${item.halfFrames} instead of ${item.frames} frames of ${item.name}`;
    const frees = item.half ? item.half.frees : Math.round(item.tokens / 2);
    const effect = `frees ${item.half ? "" : "about "}${tokens(frees)} tokens, ` + (frees >= lost ? "nothing is cut" : `${tokens(lost - frees)} still lost`);
    return h("div.fix", {}, h("span.grow", {}, shown(text), h("small.muted", {}, effect)), shrinkButton(item, text));
  }

  const shrinkButton = (item, text) => h("button.btn.small", { type: "button", "aria-label": "Apply: " + text, onclick: () => apply("shrink", { place: item.place }, text) }, "Apply");

  async function apply(name, request, reason) {
    try {
      const { draft } = await call(panel.server, name, { draft: window.clef.draft, ...request });
      window.clef.emit("load-draft", { draft, reason });
    } catch (error) {
      body.prepend(h("div.note.bad", { role: "alert" }, error.message));
    }
  }

  function ledger(view) {
    const place = h("div");
    const choices = [["parts", "Parts"], ["questions", "Questions and options"], ["all", "Every segment"]];
    const buttons = choices.map(([mode, text]) => h("button", { type: "button", onclick: () => { state.mode = mode; drawLedger(); } }, text));
    function drawLedger() {
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(choices[index][0] === state.mode)));
      replace(place, { parts: partsTable, questions: questionsTable, all: segmentsTable }[state.mode](view));
    }
    drawLedger();
    return h("section", {}, h("div.section-head", {}, h("h3", {}, "Ledger"), h("span.seg", { role: "group", "aria-label": "Rows of the ledger" }, buttons)), place);
  }

  function partsTable(view) {
    const rows = view.parts.map((part, place) => ({ ...part, place }));
    return table("The ledger by parts", [
      { key: "place", title: "part", cell: (row) => [swatch(row.group), show(shown(row.label), () => jump(row))] },
      { key: "tokens", title: "tokens", number: true, cell: (row) => tokens(row.tokens) },
      { key: "share", title: "share", number: true, value: (row) => row.tokens, cell: (row) => row.group === "cut" ? "–" : share(row.tokens, view.total) },
      { key: "start", title: "span", cell: (row) => row.group === "cut" ? h("span.muted", {}, "not in the prompt") : h("code.span", {}, span(row.start, row.tokens)) },
    ], rows);
  }

  function questionsTable(view) {
    const rows = [];
    view.questions.forEach((question, place) => {
      rows.push({ name: question.id, what: "question", group: "question", tokens: question.tokens, question: place, option: null, order: rows.length });
      rows.push({ name: question.id, what: "instruction", group: "question", tokens: question.instruction, question: place, option: null, order: rows.length, inner: true });
      question.options.forEach((option, index) => rows.push({ name: option.id, what: "option", group: "option", tokens: option.tokens, question: place, option: index, order: rows.length, inner: true }));
      rows.push({ name: "scaffold", what: "fixed text", group: "scaffold", tokens: question.scaffold, question: place, option: null, order: rows.length, inner: true });
    });
    return table("Tokens of each question and option", [
      { key: "order", title: "question, option", cell: (row) => h("span.key", { style: { paddingLeft: row.inner ? "18px" : "0" } }, swatch(row.group), show(row.inner ? shown(row.what === "option" ? row.name : row.what) : h("b", {}, shown(row.name)), () => jump(row))) },
      { key: "what", title: "what", cell: (row) => row.what },
      { key: "tokens", title: "tokens", number: true, cell: (row) => row.inner ? tokens(row.tokens) : h("b", {}, tokens(row.tokens)) },
      { key: "share", title: "share", number: true, value: (row) => row.tokens, cell: (row) => share(row.tokens, view.total) },
    ], rows);
  }

  function segmentsTable(view) {
    const rows = view.rows.map(([kind, count, start, end, question, option, item, text, length], place) => ({ kind, tokens: count, start, end, question, option, media: item, text, length, place }));
    const owner = (row) => row.question < 0 ? (row.kind === "media" ? view.media[row.media]?.name || "media" : NAMES[row.kind] || row.kind)
      : `${view.questions[row.question].id} · ${NAMES[row.kind]}${row.option >= 0 ? " " + view.questions[row.question].options[row.option].id : ""}`;
    return table("Every segment of the prompt", [
      { key: "place", title: "segment", cell: (row) => [swatch(GROUPS[row.kind] || "scaffold"), show(shown(owner(row)), () => jump(["option", "instruction"].includes(row.kind) ? row : { start: row.start }))] },
      { key: "tokens", title: "tokens", number: true, cell: (row) => tokens(row.tokens) },
      { key: "share", title: "share", number: true, value: (row) => row.end - row.start, cell: (row) => row.kind === "state_cut" ? "–" : share(row.tokens, view.total) },
      { key: "start", title: "span", cell: (row) => row.kind === "state_cut" ? h("span.muted", {}, "not in the prompt") : h("code.span", {}, `[${row.start}:${row.end})`) },
      { key: "text", title: "text", cell: (row) => h("code.excerpt", {}, shown(row.text.replaceAll("\n", "⏎")), row.length > 100 && h("span.muted", {}, ` ${tokens(row.length)} characters`)) },
    ], rows);
  }

  function stateCosts(view) {
    if (!view.state) return h("p.muted", {}, "This tokenizer does not tell where its tokens stand, so the state's parts cannot be counted.");
    if (!view.state.rows.length) return null;
    const { state: costs } = view;
    const note = costs.all > costs.rows.length && `The ${tokens(costs.rows.length)} outermost of ${tokens(costs.all)} are listed; deeper ones are counted in those above them.`;
    return h("section", {}, h("div.section-head", {}, h("h3", {}, costs.kind === "json" ? "State, key by key" : "State, paragraph by paragraph")),
      costs.kind === "json" && h("p.muted.small-note", {}, "In the prompt's order: keys are sorted at every depth. A token that spans two values is counted where it begins. ", note),
      window.clef.icicle(view), stateTable(view, { show: jump }));
  }

  function media(view) {
    if (!view.media.length) return null;
    return h("section", {}, h("div.section-head", {}, h("h3", {}, "Media")), table("Tokens of each picture and clip", [
      { key: "place", title: "item", cell: (row) => [swatch("media"), shown(row.name)] },
      { key: "tokens", title: "tokens", number: true, cell: (row) => tokens(row.tokens) },
      { key: "per", title: "per frame or picture", number: true, value: (row) => row.perSlot, cell: (row) => row.kind === "image" ? `${tokens(row.perSlot)} + 2 markers` : `${tokens(row.perSlot)} for each of ${row.slots.length} pairs of frames` },
      { key: "shown", title: "size for the model", value: (row) => row.shown[0] * row.shown[1], cell: (row) => `${row.shown[0]} × ${row.shown[1]}${row.given[0] === row.shown[0] && row.given[1] === row.shown[1] ? "" : `, given ${row.given[0]} × ${row.given[1]}`}` },
      { key: "half", title: "half the tokens at", value: (row) => row.half ? row.half.tokens : row.halfFrames || 0, cell: (row) => row.half ? [`${row.half.width} × ${row.half.height} (${tokens(row.half.tokens)}) `, shrinkButton(row, `Show ${row.name} at half its tokens`)] : row.halfFrames ? [`${row.halfFrames} frames `, shrinkButton(row, `Show ${row.halfFrames} frames of ${row.name}`)] : "it is as small as it gets" },
    ], view.media));
  }

  function traps(view) {
    const { counts } = view;
    const against = (count) => count === counts.pieces ? "the same here" : `${count > counts.pieces ? "+" : "−"}${tokens(Math.abs(count - counts.pieces))}`;
    return h("details.traps", {}, h("summary", {}, "Counting traps: three ways to count this text"),
      h("table", {}, h("caption.clef-visually-hidden", {}, "Three ways to count"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "way"), h("th.n", { scope: "col" }, "tokens"), h("th.n", { scope: "col" }, "against the model's count"))),
        h("tbody", {},
          h("tr", {}, h("th", { scope: "row" }, "piece by piece, as the model gets it"), h("td.n", {}, h("b", {}, tokens(counts.pieces))), h("td.n", {}, "")),
          h("tr", {}, h("th", { scope: "row" }, "the whole text in one call: merges cross the seams"), h("td.n", {}, tokens(counts.whole)), h("td.n", {}, against(counts.whole))),
          h("tr", {}, h("th", { scope: "row" }, `${tokens(counts.characters)} characters divided by four`), h("td.n", {}, tokens(counts.quarter)), h("td.n", {}, against(counts.quarter))))),
      h("p.muted.small-note", {}, `Text before any cut${counts.media ? `; media add ${tokens(counts.media)} tokens, which no text count sees` : ""}.`));
  }

  const fetchBudget = window.clef.debounce(220, async () => {
    const { draft } = window.clef;
    const print = draft && window.clef.fingerprint(draft);
    if (!draft || !state.visible || print === state.asked) return;
    state.asked = print;
    const sequence = ++state.sequence;
    try {
      const view = await call(panel.server, "budget", draft);
      if (sequence === state.sequence) draw(view);
    } catch (error) {
      state.asked = null;
      if (sequence === state.sequence) replace(body, h("div.note.bad", { role: "alert" }, error.message));
    }
  });
  new IntersectionObserver((entries) => {
    state.visible = entries.at(-1).isIntersecting;
    if (state.visible) fetchBudget();
  }).observe(root);
  window.clef.on("draft", fetchBudget);
};
