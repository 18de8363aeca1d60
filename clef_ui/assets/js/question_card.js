// One question as a card: a line when collapsed, all its fields when open, with costs, problems and advice beside them.
window.clef.questionCard = (() => {
  "use strict";
  const { h, replace, shown, setText, tokens } = window.clef;
  const { textField, valueField, menuButton, isPlain, newId } = window.clef.questionFields;
  const { optionList, pasteBox } = window.clef.questionOptions;
  const KINDS = { noul: "yes/no", choice: "choice", score: "score" };
  const SHOWN_ADVICE = 4; // more is one click away

  // `list`: change(uid, part), remove(uid), duplicate(uid), move(uid, by), collapse(uid, flag), announce(text), undoable(...)
  function makeCard(question, list, { fresh = false } = {}) {
    const uid = question.uid;
    const ids = { body: newId("body"), type: newId("type"), order: newId("order") };
    const kept = {}; // what each type held before the type was switched away
    let current = question;
    let options = null; // the rows, which are of one type
    let rowsKind = null;
    let box = null; // the open box for pasting a list
    let entry = null; // this card's part of the plan
    let loose = []; // problems that belong to no single field
    let allAdvice = false;

    const change = (part) => list.change(uid, part);
    const toggle = h("button.btn.ghost.icon.chevron", { type: "button", "aria-controls": ids.body, onclick: () => list.collapse(uid, !isCollapsed()) }, h("span", { "aria-hidden": "true" }, "▾"));
    const lineId = h("span.qid");
    const lineType = h("span.type");
    const lineText = h("span.ell.muted");
    const line = h("button.line", { type: "button", tabIndex: -1, "aria-hidden": "true", onclick: () => list.collapse(uid, false) }, lineId, lineType, lineText);
    const id = textField({ label: "Question id", className: ".mono.key", placeholder: "id", onedit: (text) => change({ id: text }), onkey: (event) => {
      if (event.key !== "Enter" || !isPlain(event) || event.altKey) return;
      event.preventDefault();
      if (!event.shiftKey) instructions.input.focus();
    } });
    const type = h("select.field", { id: ids.type, onchange: () => switchKind(type.value) }, Object.entries(KINDS).map(([key, label]) => h("option", { value: key }, label)));
    const alerts = h("span.alerts");
    const count = h("span.count.num");
    const menu = menuButton("More for this question", () => [
      { label: "Move up", keys: "Alt ↑", run: () => list.move(uid, -1) },
      { label: "Move down", keys: "Alt ↓", run: () => list.move(uid, 1) },
      { label: "Duplicate", run: () => list.duplicate(uid) },
      ...(isCollapsed() ? [] : instructions.kinds().map((kind) => ({ ...kind, label: "Instructions: " + kind.label[0].toLowerCase() + kind.label.slice(1) }))),
      { label: "Show in the prompt", run: () => list.show(uid) },
      { label: "Remove", apart: true, run: () => list.remove(uid) },
    ]);
    const head = h("div.qhead", { onkeydown: (event) => {
      if (!event.altKey || !isPlain(event) || !(event.key === "ArrowUp" || event.key === "ArrowDown")) return;
      event.preventDefault();
      list.move(uid, event.key === "ArrowUp" ? -1 : 1);
    } }, toggle, line, h("div.identity", {}, id.element, h("label.clef-visually-hidden", { for: ids.type }, "Type"), type), alerts, count, menu.element, id.notes);

    const instructions = valueField({
      label: "Instructions", empty: () => null, onedit: (value) => change({ instructions: value }),
      placeholderOf: (value) => (value?.text === "" ? "empty text: the model reads the id in its place" : "no instructions: the model reads the id in their place"),
    });
    const place = h("div.optionplace");
    const addButton = h("button.btn.small", { type: "button", onclick: () => options.add() });
    const pasteButton = h("button.btn.small.ghost", { type: "button", onclick: () => (box ? closeBox() : openBox("")) }, "Paste list");
    const order = h("span.order", { id: ids.order });
    const actions = h("div.under", {}, addButton, pasteButton, h("span.grow"), order);
    const problems = h("div.problems", { role: "group", "aria-label": "Problems of this question", hidden: true });
    const advice = h("ul.advices", { "aria-label": "Advice", hidden: true });
    const body = h("div.qbody", { id: ids.body }, h("div", {}, instructions.element, instructions.notes), place, actions, problems, advice);
    const element = h("article.card.clef-question", { "data-uid": String(uid), onfocusout: () => drawAlerts() }, head, body);

    function isCollapsed() {
      return element.classList.contains("collapsed");
    }

    function makeOptions(isNew) {
      closeBox();
      rowsKind = current.kind;
      options = optionList(current.kind, {
        change: (next) => change({ options: next }),
        removed: (option, at) => list.undoable(`Removed ${current.kind === "score" ? `level ${at}` : `option “${option.key}”`}.`, element, () => {
          const next = [...current.options];
          next.splice(at, 0, option);
          change({ options: next });
          card.set(current);
          options.focus(at, "key");
        }),
        announce: list.announce,
        pasteList: openBox,
      });
      replace(place, options.element);
      const isNoul = current.kind === "noul";
      actions.hidden = isNoul;
      setText(addButton, current.kind === "score" ? "Add level" : "Add option");
      options.set(current.options, isNew);
    }

    // Texts are kept: what the other type held comes back when nothing was edited meanwhile.
    function switchKind(kind) {
      const { options: held, extra } = current;
      kept[current.kind] = { options: held, extra };
      const back = kept[kind];
      const unchanged = back && JSON.stringify(held) === kept.arrived;
      const next = unchanged ? back : { options: convert(held, current.kind, kind), extra: extra && { ...extra, criteria: null, order: [], others: [] } };
      kept.arrived = JSON.stringify(next.options);
      change({ kind, ...next });
      card.set(current);
      list.announce(`${KINDS[kind]}, ${next.options.length} ${kind === "score" ? "levels" : "options"}`);
    }

    function openBox(text) {
      if (!box) {
        box = pasteBox(current.kind, {
          current: () => current.options,
          close: () => { closeBox(); pasteButton.focus(); },
          take: (next, added, changed) => {
            const before = current.options;
            closeBox();
            change({ options: next });
            card.set(current);
            list.undoable(`Pasted: ${added} new${changed ? `, ${changed} changed` : ""}.`, element, () => { change({ options: before }); card.set(current); pasteButton.focus(); });
          },
        });
        actions.after(box.element);
        pasteButton.setAttribute("aria-expanded", "true");
      }
      box.open(text);
    }

    function closeBox() {
      box?.element.remove();
      box = null;
      pasteButton.setAttribute("aria-expanded", "false");
    }

    function drawLine() {
      const name = current.id === "" ? "no id" : current.id;
      const size = current.kind === "noul" ? "" : ` · ${current.options.length}`;
      const text = current.instructions ? current.instructions.text : "";
      if (lineId.dataset.text !== name) replace(lineId, shown((lineId.dataset.text = name)));
      setText(lineType, KINDS[current.kind] + size);
      const short = text.length > 160 ? text.slice(0, 160) + "…" : text;
      if (lineText.dataset.text !== short) replace(lineText, shown((lineText.dataset.text = short)));
      const words = `${isCollapsed() ? "Open" : "Collapse"} question ${name}, ${KINDS[current.kind]}${size.replace(" · ", ", ")}`;
      if (toggle.getAttribute("aria-label") !== words) toggle.setAttribute("aria-label", words);
      element.setAttribute("aria-label", `Question ${name}`);
    }

    function drawPlan(exact) {
      const about = exact ? "" : "~";
      setText(count, entry ? about + tokens(entry.tokens) : "");
      count.title = entry ? `${exact ? "" : "about "}${tokens(entry.tokens)} tokens of the prompt` : "";
      options.applyTokens(entry?.options, exact);
      const read = entry && current.kind === "choice" ? "the model reads: " + entry.modelOrder.join(", ") : "";
      order.title = entry?.advice?.find((each) => each.code === "option_order")?.message || "";
      if (order.dataset.text !== read) replace(order, read ? shown((order.dataset.text = read)) : ((order.dataset.text = ""), ""));
      drawAdvice();
    }

    // The line with the model's order says this one by itself.
    function tips() {
      return (entry?.advice || []).filter((advice) => advice.code !== "option_order");
    }

    function drawAdvice() {
      const all = tips();
      const key = JSON.stringify([all, allAdvice]);
      if (advice.dataset.key === key) return;
      advice.dataset.key = key;
      advice.hidden = all.length === 0;
      const visible = allAdvice ? all : all.slice(0, SHOWN_ADVICE);
      replace(advice, visible.map((each) => h("li.advice", { "data-code": each.code },
        h("span", {}, shown(each.message)),
        each.code === "no_way_out" && h("button.link", { type: "button", onclick: addWayOut }, "Add it"))),
      all.length > visible.length && h("li", {}, h("button.link", { type: "button", onclick: () => { allAdvice = true; drawAdvice(); } }, `${all.length - visible.length} more`)));
    }

    function addWayOut() {
      const keys = new Set(current.options.map((option) => option.key));
      const key = ["other", "none_of_these", "none_of_the_above"].find((name) => !keys.has(name));
      if (key) options.add({ key, description: { text: "None of these", raw: false } });
    }

    function drawAlerts() {
      const faults = loose.length + id.visibleProblems + instructions.visibleProblems + options.visibleProblems;
      const hints = isCollapsed() ? tips().length : 0;
      const words = faults ? `${faults} problem${faults === 1 ? "" : "s"}` : hints ? `${hints} tip${hints === 1 ? "" : "s"}` : "";
      setText(alerts, words);
      alerts.classList.toggle("bad", faults > 0);
      element.classList.toggle("has-problems", faults > 0);
    }

    function applyProblems(mine) {
      const at = current.options.map(() => ({ key: [], description: [] }));
      const fields = { id: [], instructions: [] };
      loose = [];
      for (const problem of mine) {
        const match = /^options\[(\d+)\]\.(key|description)$/.exec(problem.field || "");
        if (match && at[match[1]]) at[match[1]][match[2]].push(problem.message);
        else if (fields[problem.field]) fields[problem.field].push(problem.message);
        else loose.push(problem.message);
      }
      id.setProblems(fields.id);
      instructions.setProblems(fields.instructions);
      options.applyProblems(at);
      problems.hidden = loose.length === 0;
      const key = JSON.stringify(loose);
      if (problems.dataset.key !== key) replace(problems, loose.map((message) => h("p.problem", {}, shown(message))));
      problems.dataset.key = key;
    }

    const card = {
      uid, element, toggle, menuButton: menu.button,
      get question() { return current; },
      // Called after each change of the question; writes only what differs.
      set(next) {
        const isNew = options === null && fresh;
        current = next;
        if (rowsKind !== current.kind) makeOptions(isNew);
        else options.set(current.options);
        id.set(current.id);
        if (type.value !== current.kind) type.value = current.kind;
        instructions.setValue(current.instructions);
        drawLine();
      },
      // After an edit that came out of this card's own fields: nothing but the one-line summary follows it.
      follow(next) {
        current = next;
        drawLine();
      },
      setCollapsed(flag) {
        element.classList.toggle("collapsed", flag);
        body.hidden = flag;
        toggle.setAttribute("aria-expanded", String(!flag));
        drawLine();
        drawAlerts();
      },
      applyPlan(next, mine, exact) {
        entry = next || null;
        applyProblems(mine);
        drawPlan(exact);
        drawAlerts();
      },
      focusField(name) {
        for (const field of [id, instructions]) field.reveal();
        options.reveal();
        drawAlerts();
        const match = /^options\[(\d+)\]\.(key|description)$/.exec(name || "");
        if (match) options.focus(Number(match[1]), match[2]);
        else if (name === "instructions") instructions.input.focus();
        else if (name === "type") type.focus();
        else if (name === "options") (options.first?.first || addButton).focus();
        else id.input.focus();
      },
      selectId() {
        id.input.focus();
        id.input.select();
      },
    };
    card.set(question);
    return card;
  }

  // Options of one type as options of another; every text finds a place.
  function convert(options, from, to) {
    const blank = () => ({ key: "", description: null });
    if (to === "noul") return ["true", "false"].map((key) => ({ key, description: { default: true } }));
    if (from === "noul") {
      const typed = options.filter((option) => option.description && !option.description.default);
      if (!typed.length) return [blank(), blank()];
      const described = options.map((option) => ({ key: option.key, description: option.description?.default ? null : option.description }));
      return to === "score" ? described.reverse().map((option) => levelOf(option)) : described;
    }
    if (to === "score") return options.map(levelOf);
    const taken = new Set(options.map((option) => option.key));
    return options.map((option) => {
      const text = option.description?.raw ? "" : option.description?.text || "";
      if (option.key !== "" || text === "" || text.length > 40 || taken.has(text)) return option;
      taken.add(text);
      return { key: text, description: null };
    });
  }

  function levelOf(option) {
    return { key: option.key, description: option.description ?? (option.key === "" ? null : { text: option.key, raw: false }) };
  }

  return { makeCard, KINDS };
})();
