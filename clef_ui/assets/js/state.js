// The state: text or JSON by an explicit switch, what is wrong with it, what it costs, and how the model reads it.
(() => {
  "use strict";
  const { h, replace, append, shown, hiddenCodes, tokens, setText } = window.clef;
  const MODES = { text: "Text", json: "JSON", read: "As the model reads it" };
  const MAX_TEXT_FILE = 2 * 1024 * 1024; // bytes; more than any limit of tokens keeps, and still quick to edit

  // `api`: getDraft(), update(patch, options), fill(text) -> Promise<bool>, notify(text, options)
  window.clef.stateSection = (container, api) => {
    let reading = false; // shows the rendered piece in place of the field
    let plan = null;
    const buttons = Object.entries(MODES).map(([key, label]) =>
      h("button", { type: "button", "data-mode": key, onclick: () => choose(key) }, label));
    const field = h("textarea.clef-state", {
      "aria-label": "State", "aria-describedby": "clef-state-note", spellcheck: false, rows: 7, oninput: typed, onpaste: pasted,
      placeholder: "What the model reads: a message, a record, a page. Or paste a whole request here.",
    });
    const piece = h("pre.clef-reading", { tabindex: 0, role: "region", "aria-label": "The state as the model reads it", hidden: true });
    const dot = h("span.dot", { "aria-hidden": "true" });
    const note = h("span", { id: "clef-state-note", role: "status" });
    const count = h("span.num");
    const hidden = h("p.advice", { hidden: true });
    const problems = h("div.clef-problems", { role: "group", "aria-label": "Problems of the state" });
    const cut = h("div.clef-cut", { hidden: true });
    append(container, [
      h("div.sechead", {}, h("h2", {}, "State"), h("span.grow"), h("span.seg", { role: "group", "aria-label": "State as" }, buttons)),
      field, piece, h("div.under", {}, dot, note, h("span.grow"), count), hidden, problems, cut,
    ]);

    function choose(key) {
      reading = key === "read";
      if (!reading && key !== api.getDraft().stateMode) api.update({ stateMode: key });
      mark();
      if (!reading) field.focus();
    }

    function mark() {
      const current = reading ? "read" : api.getDraft().stateMode;
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.mode === current));
      field.hidden = reading;
      piece.hidden = !reading;
      if (reading) drawPiece();
    }

    function typed() {
      api.update({ stateText: field.value });
    }

    // Whole requests and curl commands fill everything; a bare question map only when it would be the whole state.
    async function pasted(event) {
      const text = event.clipboardData?.getData("text/plain") || "";
      const whole = field.selectionStart === 0 && field.selectionEnd === field.value.length;
      if (!looksLikeRequest(text, whole)) return;
      event.preventDefault();
      const { selectionStart, selectionEnd } = field;
      if (await api.fill(text)) return;
      field.setRangeText(text, selectionStart, selectionEnd, "end");
      typed();
    }

    function looksLikeRequest(text, whole) {
      const start = text.trimStart().slice(0, 5);
      if (/^curl\b/.test(start)) return true;
      if (!start.startsWith("{")) return false;
      return /"questions"\s*:/.test(text) || (whole && /"type"\s*:\s*"(noul|choice|score)"/.test(text));
    }

    // A dropped or picked file: a request fills everything, other JSON and text become the state.
    async function takeFile(file) {
      if (file.size > MAX_TEXT_FILE) {
        api.notify(`“${file.name}” has ${tokens(file.size)} bytes and ${tokens(MAX_TEXT_FILE)} are allowed for a state. Shorten it first.`, { bad: true });
        return;
      }
      let text;
      try {
        text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      } catch {
        api.notify(`“${file.name}” is not text in UTF-8. Drop a JSON, JSONL or text file, an image or a video.`, { bad: true });
        return;
      }
      const lines = /\.(jsonl|ndjson)$/i.test(file.name);
      const rest = lines ? text.split("\n").filter((line) => line.trim()).length - 1 : 0;
      if (lines) text = text.split("\n").find((line) => line.trim()) || "";
      if (await api.fill(text)) return;
      const json = lines || /\.json$/i.test(file.name);
      api.update({ stateText: text, stateMode: json ? "json" : "text" }, {
        source: "file", undo: `The state is now “${file.name}”${rest > 0 ? `, its first line; ${tokens(rest)} more lines were left out` : ""}.`,
      });
    }

    function drawPiece() {
      if (!plan) return replace(piece, "not read yet");
      const left = plan.stateAsReadLength - plan.stateAsRead.length;
      const text = plan.problems.some((problem) => problem.area === "state") ? h("span.muted", {}, "The state is no JSON yet, so there is nothing to read.") : plan.stateAsRead;
      return replace(piece, text, left > 0 ? h("p.muted", {}, `${tokens(plan.stateAsRead.length)} of ${tokens(plan.stateAsReadLength)} characters are shown; the model gets all of them.`) : null);
    }

    function place(problem) {
      if (!problem.line) return null;
      return h("button.clef-place", { type: "button", onclick: () => goTo(problem.line, problem.column) }, `line ${problem.line}, column ${problem.column}`);
    }

    function goTo(line, column) {
      reading = false;
      mark();
      const lines = field.value.split("\n");
      const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + [...(lines[line - 1] || "")].slice(0, column - 1).join("").length;
      field.focus();
      field.setSelectionRange(start, Math.min(start + 1, field.value.length));
    }

    function drawCut() {
      const lost = plan.cut;
      cut.hidden = !lost;
      if (!lost) return;
      const paths = lost.lostPaths.slice(0, 12);
      const more = lost.lostPaths.length - paths.length;
      replace(cut,
        h("p", {}, h("b", {}, `${tokens(lost.lostTokens)} tokens of the state will be cut`), `, ${tokens(lost.keptTokens)} are kept. The cut falls here:`),
        h("p.mono.clef-cutplace", {}, "…", shown(lost.lastKept), h("span.clef-cutmark", { role: "img", "aria-label": "cut" }, "✂"), h("s", {}, shown(lost.firstLost)), "…"),
        paths.length || lost.cutPath ? h("p", {},
          paths.length ? ["Lost: ", paths.map((path, index) => [index ? ", " : "", h("code.k", {}, shown(path))]), more > 0 ? ` and ${tokens(more)} more` : "", ". "] : null,
          lost.cutPath ? ["Cut in two: ", h("code.k", {}, shown(lost.cutPath)), ". "] : null,
          "Keys are sorted before the cut, so their names decide what is lost.") : null);
    }

    return {
      takeFile,
      render(draft) {
        if (field.value !== draft.stateText) field.value = draft.stateText;
        mark();
      },
      focus() {
        reading = false;
        mark();
        field.focus();
      },
      applyPlan(view) {
        plan = view;
        const mine = view.problems.filter((problem) => problem.area === "state");
        dot.className = mine.length ? "dot bad" : "dot";
        field.setAttribute("aria-invalid", String(mine.length > 0));
        setText(note, mine.length ? (mine.length === 1 ? "1 problem" : `${mine.length} problems`) : view.stateNote);
        replace(problems, mine.map((problem) => h("p.problem", {}, place(problem), " ", problem.where ? [h("code.k", {}, shown(problem.where)), " "] : "", shown(problem.message))));
        const over = view.stateTokens > view.stateRoom;
        count.className = over ? "num clef-over" : "num";
        count.title = "What is left for the state within the limits, beside the questions, media and the fixed text.";
        setText(count, mine.length ? "" : `${view.exact ? "" : "about "}${tokens(view.stateTokens)} tokens, ${over ? "only" : "room for"} ${tokens(view.stateRoom)}${over ? " fit" : ""}`);
        const codes = hiddenCodes(field.value);
        hidden.hidden = codes.length === 0;
        setText(hidden, codes.length ? `Hidden characters that the model reads too: ${codes.slice(0, 8).join(", ")}. “As the model reads it” shows where.` : "");
        drawCut();
        if (reading) drawPiece();
      },
    };
  };
})();
