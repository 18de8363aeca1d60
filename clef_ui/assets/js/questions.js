// The schema builder: the list of question cards, its JSON twin, undo, and the word on what the server says of them.
(() => {
  "use strict";
  const { h, replace, shown, setText, tokens, call, emit, rewritten } = window.clef;
  const { makeCard, KINDS } = window.clef.questionCard;

  // `host`: getDraft(), update(patch) merges into the draft and plans, server with `form` and `questions_json`.
  window.clef.questionsBuilder = (container, host) => {
    const cards = new Map(); // uid -> card
    let questions = [];
    let nextUid = 1;
    let undos = []; // latest last; {text, restore, anchor}
    let plan = null;
    let folding = 0;
    let written = null; // {text, questions}: the JSON text that the form made, to come back to the same cards

    const live = h("div.clef-visually-hidden", { "aria-live": "polite" });
    const total = h("span.muted.num.total");
    const fold = h("button.btn.ghost.small", { type: "button", onclick: foldAll });
    const modes = ["form", "json"].map((mode) => h("button", { type: "button", "data-mode": mode, onclick: () => choose(mode) }, mode === "form" ? "Form" : "JSON"));
    const list = h("div.questionlist");
    const strip = h("div.undo", { hidden: true });
    const problems = h("div.problems", { role: "group", "aria-label": "Problems of the questions", hidden: true });
    const adds = h("div.row.adds", { role: "group", "aria-label": "Add a question" },
      Object.entries(KINDS).map(([kind, label]) => h("button.btn.small", { type: "button", "data-add": kind, onclick: () => add(kind) }, "+ " + label)));
    const form = h("div.clef-form", {}, list, adds);
    const editor = h("textarea.field.mono.clef-questions-json", { rows: 16, spellcheck: "false", "aria-label": "Questions as JSON", dir: "auto",
      oninput: () => host.update({ questionsText: editor.value }) });
    const notes = h("ul.advices", { "aria-label": "Advice" });
    const json = h("div.clef-json", { hidden: true }, editor, notes);
    container.append(h("div.clef-questions", {},
      h("div.sechead", {}, h("h2", {}, "Questions"), total, h("span.grow"), fold, h("span.seg", { role: "group", "aria-label": "Questions as" }, modes)),
      form, json, problems, live));

    const act = {
      change(uid, part) {
        let next = null;
        questions = questions.map((question) => (question.uid === uid ? (next = { ...question, ...part }) : question));
        cards.get(uid).follow(next);
        host.update({ questions });
      },
      remove, duplicate, move, announce, undoable,
      collapse(uid, flag) {
        const card = cards.get(uid);
        const held = card.element.contains(document.activeElement);
        card.setCollapsed(flag);
        if (held || !flag) card.toggle.focus();
        keepView();
      },
      show(uid) {
        emit("open-tab", "prompt");
        emit("select", { question: questions.findIndex((question) => question.uid === uid), option: null });
      },
    };

    function announce(text) {
      live.textContent = "";
      requestAnimationFrame(() => { live.textContent = text; });
    }

    function isJson() {
      return host.getDraft().questionsMode === "json";
    }

    function commit(next) {
      questions = next;
      host.update({ questions });
      drawHead();
    }

    function collapsedUids() {
      return [...cards.values()].filter((card) => card.element.classList.contains("collapsed")).map((card) => card.uid);
    }

    function keepView() {
      host.update({ view: { ...host.getDraft().view, collapsed: collapsedUids() } });
      drawHead();
    }

    function freshId(base) {
      const taken = new Set(questions.map((question) => question.id));
      let number = 1;
      while (taken.has(base + number)) number += 1;
      return base + number;
    }

    function place(question, at, options) {
      const card = makeCard(question, act, options);
      cards.set(question.uid, card);
      card.setCollapsed(false);
      const after = questions[at] && cards.get(questions[at].uid);
      list.insertBefore(card.element, after ? after.element : null);
      return card;
    }

    function add(kind) {
      const options = { noul: ["true", "false"].map((key) => ({ key, description: { default: true } })) }[kind]
        || [{ key: "", description: null }, { key: "", description: null }];
      const question = { uid: nextUid++, kind, id: freshId("q"), instructions: null, options, extra: null };
      const card = place(question, questions.length, { fresh: true });
      commit([...questions, question]);
      card.selectId();
      card.element.scrollIntoView({ block: "nearest" });
      announce(`Added a ${KINDS[kind]} question, ${questions.length} in all`);
    }

    function duplicate(uid) {
      const at = questions.findIndex((question) => question.uid === uid);
      const copy = { ...structuredClone(questions[at]), uid: nextUid++, id: freshId(questions[at].id + "_") };
      const card = place(copy, at + 1, {});
      commit([...questions.slice(0, at + 1), copy, ...questions.slice(at + 1)]);
      card.selectId();
      announce(`Duplicated as ${copy.id}`);
    }

    function move(uid, by) {
      const at = questions.findIndex((question) => question.uid === uid);
      const to = at + by;
      if (to < 0 || to >= questions.length) return announce(`already ${by < 0 ? "first" : "last"}`);
      const [mine, other] = [cards.get(uid), cards.get(questions[to].uid)];
      hideStrip();
      list.insertBefore(other.element, by < 0 ? mine.element.nextSibling : mine.element); // never the one with the focus
      const next = [...questions];
      [next[at], next[to]] = [next[to], next[at]];
      commit(next);
      mine.element.scrollIntoView({ block: "nearest" });
      return announce(`moved to place ${to + 1} of ${questions.length}`);
    }

    function remove(uid) {
      const at = questions.findIndex((question) => question.uid === uid);
      const gone = questions[at];
      const card = cards.get(uid);
      const next = card.element.nextElementSibling;
      const after = next === strip ? strip.nextElementSibling : next;
      const wasCollapsed = card.element.classList.contains("collapsed");
      card.element.remove();
      cards.delete(uid);
      commit(questions.filter((question) => question.uid !== uid));
      undoable(`Removed question “${gone.id}”.`, null, () => {
        const back = place(gone, Math.min(at, questions.length), {});
        back.setCollapsed(wasCollapsed);
        commit([...questions.slice(0, at), gone, ...questions.slice(at)]);
        back.menuButton.focus();
      }, after);
    }

    // A line with Undo where the thing was: inside the card, or in the list in place of the card.
    function undoable(text, card, restore, before = null) {
      undos.push({ text, restore: () => { restore(); announce("Undone"); } });
      if (card) card.querySelector(".qbody").append(strip);
      else list.insertBefore(strip, before);
      drawStrip();
      if (!card) strip.querySelector("button").focus();
      announce(`${text} Undo is available.`);
    }

    function drawStrip() {
      const last = undos.at(-1);
      strip.hidden = !last;
      if (!last) return;
      const more = undos.length - 1;
      replace(strip, h("span.ell", {}, shown(last.text)),
        h("button.btn.small", { type: "button", onclick: () => { undos.pop(); const { restore } = last; drawStrip(); restore(); } }, "Undo"),
        more > 0 && h("span.muted", {}, `and ${more} before`),
        h("button.btn.ghost.icon", { type: "button", "aria-label": "Dismiss", title: "Dismiss", onclick: () => { hideStrip(); (list.querySelector("button") || adds.querySelector("button")).focus(); } }, h("span", { "aria-hidden": "true" }, "×")));
    }

    function hideStrip() {
      undos = [];
      drawStrip();
    }

    // Opening begins with the cards in sight and goes on a few a frame, so that the page answers at once.
    function foldAll() {
      const mine = ++folding;
      const flag = collapsedUids().length < cards.size;
      const all = questions.map((question) => cards.get(question.uid));
      const first = Math.max(0, all.findIndex((card) => card.element.getBoundingClientRect().bottom > 0));
      const waiting = flag ? [] : [...all.slice(first), ...all.slice(0, first).reverse()];
      for (const card of flag ? all : waiting.splice(0, 4)) card.setCollapsed(flag);
      const more = () => {
        if (mine !== folding) return; // another fold or another draft came first
        for (const card of waiting.splice(0, 2)) card.setCollapsed(false);
        if (waiting.length) requestAnimationFrame(more);
        else keepView();
      };
      more();
    }

    function drawHead() {
      const asJson = isJson();
      for (const button of modes) button.setAttribute("aria-pressed", String(button.dataset.mode === host.getDraft().questionsMode));
      fold.hidden = asJson || cards.size < 2;
      setText(fold, collapsedUids().length < cards.size ? "Collapse all" : "Expand all");
      const known = plan?.questions || [];
      const sum = known.reduce((count, each) => count + each.tokens, 0);
      const count = asJson ? known.length : questions.length;
      setText(total, count ? `${count}${known.length ? ` · ${plan.exact ? "" : "~"}${tokens(sum)} tokens` : ""}` : "");
    }

    // Form and JSON are two writings of the same questions; the server turns one into the other, digit by digit.
    async function choose(mode) {
      if (mode === host.getDraft().questionsMode) return;
      try {
        await (mode === "json" ? toJson() : toForm());
      } catch (error) {
        showProblems([{ message: error.message }]);
      }
    }

    async function toJson() {
      let asked, view;
      do {
        asked = questions;
        view = await call(host.server, "questions_json", JSON.stringify(asked));
      } while (asked !== questions); // typed on meanwhile
      written = { text: view.text, questions: asked };
      editor.value = view.text;
      rewritten(() => host.update({ questionsMode: "json", questionsText: view.text }));
      drawMode();
      editor.focus();
      editor.setSelectionRange(0, 0);
      editor.scrollTop = 0;
      announce("Questions as JSON");
    }

    async function toForm() {
      let text, view;
      do {
        text = host.getDraft().questionsText;
        view = written?.text === text ? written : await call(host.server, "form", text);
      } while (text !== host.getDraft().questionsText);
      if (view.problems?.length) {
        showProblems(view.problems, "The form cannot show this yet. The JSON is kept as it is.");
        announce("The form cannot show this yet.");
        return;
      }
      load(view === written ? view.questions : adopt(view.questions));
      rewritten(() => host.update({ questionsMode: "form", questions }));
      drawMode();
      modes[0].focus();
      announce("Questions as a form");
    }

    // Cards from JSON keep the number of the card that had their id, so that they stay open or closed as they were.
    function adopt(fromText) {
      const known = new Map(questions.map((question) => [question.id, question.uid]));
      const used = new Set();
      return fromText.map((question) => {
        const uid = known.get(question.id);
        if (uid === undefined || used.has(uid)) return { ...question, uid: nextUid++ };
        used.add(uid);
        return { ...question, uid };
      });
    }

    function drawMode() {
      const asJson = isJson();
      form.hidden = asJson;
      json.hidden = !asJson;
      showProblems([]);
      drawHead();
    }

    function load(next) {
      folding += 1;
      hideStrip();
      const collapsed = host.getDraft().view?.collapsed;
      const closed = (question, at) => (collapsed ? collapsed.includes(question.uid) : next.length > 2 && at > 0);
      questions = next;
      nextUid = Math.max(nextUid, ...next.map((question) => question.uid + 1));
      for (const [uid, card] of cards) {
        if (next.some((question) => question.uid === uid)) continue;
        card.element.remove();
        cards.delete(uid);
      }
      next.forEach((question, at) => {
        const old = cards.get(question.uid);
        const card = old || makeCard(question, act);
        cards.set(question.uid, card);
        card.set(question);
        if (!old || collapsed) card.setCollapsed(closed(question, at));
        if (list.children[at] !== card.element) list.insertBefore(card.element, list.children[at] || null);
      });
    }

    function showProblems(found, title = "") {
      const key = JSON.stringify([found, title]);
      if (problems.dataset.key === key) return;
      problems.dataset.key = key;
      problems.hidden = found.length === 0;
      replace(problems, title && h("p.problem", {}, title), found.map((problem) => h("p.problem", {},
        problem.line ? [h("button.link", { type: "button", onclick: () => goTo(problem.line, problem.column) }, `line ${problem.line}, column ${problem.column}`), " "] : null,
        problem.where && !problem.line ? [h("code.k", {}, shown(problem.where)), " "] : null, shown(problem.message))));
    }

    function goTo(line, column) {
      const lines = editor.value.split("\n");
      const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
      const start = before + [...(lines[line - 1] || "")].slice(0, column - 1).join("").length; // columns count code points
      editor.focus();
      editor.setSelectionRange(start, Math.min(start + 1, editor.value.length));
    }

    function drawNotes(view) {
      const all = view.questions.flatMap((each) => each.advice.map((advice) => [each.id ?? "", advice]));
      const key = JSON.stringify(all);
      if (notes.dataset.key === key) return;
      notes.dataset.key = key;
      notes.hidden = all.length === 0;
      replace(notes, all.map(([id, advice]) => h("li.advice", { "data-code": advice.code }, id && [h("code.k", {}, shown(id)), " "], shown(advice.message))));
    }

    return {
      // A whole draft is taken over: loaded, restored or undone. Fields that already show their text are left alone.
      render(draft) {
        if (editor.value !== draft.questionsText) editor.value = draft.questionsText;
        plan = null;
        written = null;
        load(draft.questions);
        drawMode();
      },
      applyPlan(view) {
        plan = view;
        const mine = view.problems.filter((problem) => problem.area === "questions");
        if (isJson()) {
          showProblems(mine);
          drawNotes(view);
        } else {
          const costs = new Map(view.questions.map((each) => [each.uid, each]));
          for (const card of cards.values()) card.applyPlan(costs.get(card.uid), mine.filter((problem) => problem.uid === card.uid), view.exact);
          showProblems(mine.filter((problem) => !cards.has(problem.uid)));
        }
        drawHead();
      },
      focusProblem(problem) {
        if (isJson()) return problem.line ? goTo(problem.line, problem.column) : editor.focus();
        const card = cards.get(problem.uid);
        if (!card) return adds.querySelector("button").focus();
        card.setCollapsed(false);
        keepView();
        return card.focusField(problem.field);
      },
    };
  };
})();
