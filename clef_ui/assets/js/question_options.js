// The options of a question: rows of a choice, levels of a score, the two answers of a yes/no; and pasting a list.
window.clef.questionOptions = (() => {
  "use strict";
  const { h, replace, shown, setText } = window.clef;
  const { textField, valueField, menuButton, iconButton, isPlain, newId } = window.clef.questionFields;
  // Source: the release's descriptions of a noul; they are in the prompt unless the request says otherwise.
  const NOUL_DEFAULTS = {
    true: "The proposition is true or the answer is yes.",
    false: "The proposition is false or the answer is no.",
  };
  const sameText = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  // `kind` never changes in one list. `ask.change(options)` after each edit, `ask.removed(option, place)` for the undo,
  // `ask.announce(text)` for screen readers.
  function optionList(kind, ask) {
    const word = kind === "score" ? "level" : "option";
    const element = h("div.options", { role: "group", "aria-label": kind === "score" ? "Levels, lowest first" : "Options" });
    const rows = [];
    let options = [];

    function change(next) {
      options = next;
      ask.change(options);
    }

    function edit(row, part) {
      const at = rows.indexOf(row);
      change(options.map((option, place) => (place === at ? { ...option, ...part } : option)));
    }

    function insert(at, option) {
      const row = makeRow(option, true);
      rows.splice(at, 0, row);
      element.insertBefore(row.element, rows[at + 1]?.element || null);
      rename();
      change([...options.slice(0, at), option, ...options.slice(at)]);
      row.first.focus();
    }

    function remove(row) {
      const at = rows.indexOf(row);
      const gone = options[at];
      rows.splice(at, 1);
      const near = rows[Math.min(at, rows.length - 1)];
      if (near) (near.remove || near.first).focus();
      row.element.remove();
      rename();
      change(options.filter((_, place) => place !== at));
      ask.removed(gone, at, near ? null : element);
    }

    // The other row is moved, not the one with the focus, which a moved element would lose.
    function move(row, by) {
      const at = rows.indexOf(row);
      const to = at + by;
      if (to < 0 || to >= rows.length) return ask.announce(`already ${by < 0 ? "first" : "last"}`);
      const other = rows[to];
      element.insertBefore(other.element, by < 0 ? row.element.nextSibling : row.element);
      [rows[at], rows[to]] = [other, row];
      const next = [...options];
      [next[at], next[to]] = [next[to], next[at]];
      rename();
      change(next);
      return ask.announce(`${word} moved to place ${to + 1} of ${rows.length}`);
    }

    function rename() {
      rows.forEach((row, at) => row.rename(at, rows.length));
    }

    function makeRow(option, fresh) {
      const row = kind === "noul" ? noulRow(option, (part) => edit(row, part)) : listRow(kind, {
        edit: (part) => edit(row, part), insert: () => insert(rows.indexOf(row) + 1, { key: "", description: null }),
        next: () => rows[rows.indexOf(row) + 1], remove: () => remove(row), move: (by) => move(row, by), pasteList: ask.pasteList,
      });
      row.set(option);
      if (fresh) row.fresh();
      return row;
    }

    return {
      element,
      add(option = { key: "", description: null }) { insert(rows.length, option); },
      get first() { return rows[0]; },
      // Rows follow the options by place; texts are written only where they differ.
      set(next, fresh = false) {
        options = next;
        while (rows.length > next.length) rows.pop().element.remove();
        next.forEach((option, at) => {
          if (rows[at]) rows[at].set(option);
          else {
            rows.push(makeRow(option, fresh));
            element.append(rows[at].element);
          }
        });
        rename();
      },
      applyTokens(counts, exact) {
        rows.forEach((row, at) => setText(row.tokens, counts && counts.length === rows.length ? (exact ? "" : "~") + window.clef.tokens(counts[at]) : ""));
      },
      // `problems`: {key: [messages], description: [messages]} by place
      applyProblems(problems) {
        rows.forEach((row, at) => row.applyProblems(problems[at] || { key: [], description: [] }));
      },
      get visibleProblems() { return rows.reduce((sum, row) => sum + row.visibleProblems, 0); },
      reveal() { rows.forEach((row) => row.reveal()); },
      focus(at, part) { (rows[at]?.[part === "key" ? "first" : "last"] || element.querySelector("textarea"))?.focus(); },
    };
  }

  function listRow(kind, act) {
    const isScore = kind === "score";
    const keys = (event) => {
      if (!isPlain(event)) return;
      if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        event.preventDefault();
        act.move(event.key === "ArrowUp" ? -1 : 1);
      } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        if (event.target === key?.input) return description.input.focus();
        if (act.next()) act.next().first.focus();
        else if (key ? key.input.value !== "" : description.value() !== null) act.insert();
      }
      return undefined;
    };
    const key = isScore ? null : textField({
      label: "Id", className: ".mono.key", placeholder: "id", onkey: keys, onedit: (text) => act.edit({ key: text }),
      onpaste: (event) => {
        const text = event.clipboardData?.getData("text/plain") || "";
        if (!/\S.*[\r\n]+.*\S/s.test(text)) return;
        event.preventDefault();
        act.pasteList(text);
      },
    });
    const level = isScore ? h("span.level.num", { "aria-hidden": "true" }) : null;
    const description = valueField({
      label: "Description", onkey: keys, empty: () => null, onedit: (value) => act.edit({ description: value }),
      placeholderOf: (value) => (value?.text === "" ? "empty text" : isScore ? "what this level means" : "no description"),
    });
    const tokens = h("span.tokens.num");
    const word = isScore ? "level" : "option";
    const up = isScore && iconButton("Move level up", "↑", () => act.move(-1));
    const down = isScore && iconButton("Move level down", "↓", () => act.move(1));
    const menu = menuButton(`More for this ${word}`, () => [
      { label: "Move up", keys: "Alt ↑", run: () => act.move(-1) },
      { label: "Move down", keys: "Alt ↓", run: () => act.move(1) },
      ...description.kinds(),
      { label: "No description (null)", disabled: description.value() === null, run: () => { description.setValue(null); act.edit({ description: null }); description.input.focus(); } },
      { label: `Insert ${word} below`, run: act.insert },
    ]);
    const cross = iconButton(`Remove ${word}`, "×", () => act.remove());
    const element = h("div.option", { class: isScore ? "option is-score" : "option is-choice", role: "group" }, level, key?.element, description.element, tokens, up, down, menu.element, cross, key?.notes, description.notes);
    return {
      element, tokens, remove: cross,
      first: (key || description).input, last: description.input,
      set(option) {
        key?.set(option.key);
        description.setValue(option.description);
      },
      rename(at, count) {
        const name = isScore ? `Level ${at} of ${count - 1}` : `Option ${at + 1}`;
        element.setAttribute("aria-label", name);
        if (level) setText(level, String(at));
        key?.setLabel(`${name}, id`);
        description.rename(`${name}, description`);
      },
      fresh() { (key || description).setFresh(); },
      applyProblems(problems) {
        (key || description).setProblems(key ? problems.key : [...problems.key, ...problems.description]);
        if (key) description.setProblems(problems.description);
      },
      get visibleProblems() { return (key?.visibleProblems || 0) + description.visibleProblems; },
      reveal() { key?.reveal(); description.reveal(); },
    };
  }

  // true or false: the release's default text unless the request has its own, or null to leave it out.
  function noulRow(option, edit) {
    const standard = NOUL_DEFAULTS[option.key];
    const description = valueField({
      label: `What ${option.key} means`, empty: () => ({ default: true }),
      onedit: (value) => { edit({ description: value }); mark(); },
      placeholderOf: (value) => (value === null ? "no description: the default is removed" : value?.text === "" ? "empty text" : standard),
    });
    const toggle = h("button.btn.ghost.small", { type: "button", onclick: () => { become(description.value()?.default ? null : { default: true }); } });
    const menu = menuButton(`More for ${option.key}`, () => [
      { label: "Use the default text", disabled: Boolean(description.value()?.default), run: () => become({ default: true }) },
      { label: "Edit the default text", disabled: !description.value()?.default, run: () => { become({ text: standard, raw: false }); description.input.focus(); } },
      { label: "No description (null)", disabled: description.value() === null, run: () => become(null) },
      ...description.kinds(),
    ]);
    const tokens = h("span.tokens.num");
    const element = h("div.option.is-noul", { role: "group", "aria-label": `Answer ${option.key}` },
      h("span.answer.mono", { "aria-hidden": "true" }, option.key), description.element, tokens, toggle, menu.element, description.notes);

    function become(value) {
      description.setValue(value);
      edit({ description: value });
      mark();
    }

    function mark() {
      const standing = Boolean(description.value()?.default);
      setText(toggle, standing ? "Remove default" : "Use default");
      toggle.setAttribute("aria-label", `${toggle.textContent} text of ${option.key}`);
      element.classList.toggle("removed", description.value() === null);
    }

    return {
      element, tokens, first: description.input, last: description.input,
      set(next) { description.setValue(next.description); mark(); },
      rename() {},
      fresh() {},
      applyProblems(problems) { description.setProblems([...problems.key, ...problems.description]); },
      get visibleProblems() { return description.visibleProblems; },
      reveal() { description.reveal(); },
    };
  }

  // Lines of `key: description` (a tab will do) as options; of a score each line is a level. Blank lines are passed over.
  function parseList(text, kind) {
    const lines = text.split(/\r\n?|\n/).map((line) => line.trim()).filter((line) => line !== "");
    if (kind === "score") return lines.map((line) => ({ key: "", description: { text: line, raw: false } }));
    return lines.map((line) => {
      const match = /^([^\t]*?)\s*(?::(?:\s+|$)|\t\s*)(.*)$/s.exec(line);
      if (!match || match[1] === "") return { key: line, description: null };
      return { key: match[1], description: match[2] === "" ? null : { text: match[2], raw: false } };
    });
  }

  // The options with the pasted ones: a known id gets the new description, empty rows make room.
  function mergeList(options, pasted, kind) {
    const kept = options.filter((option) => option.description !== null || (kind === "choice" && option.key !== ""));
    if (kind === "score") return { options: [...kept, ...pasted], added: pasted.length, changed: [] };
    const next = [...kept];
    const changed = new Set();
    for (const option of pasted) {
      const at = next.findIndex((other) => other.key === option.key);
      if (at < 0) next.push(option);
      else if (!sameText(next[at], option)) {
        next[at] = option;
        changed.add(option.key);
      }
    }
    return { options: next, added: next.length - kept.length, changed: [...changed] };
  }

  // A box for a list of options with a preview in words. `ask.current()`, `ask.take(options, words)`, `ask.close()`.
  function pasteBox(kind, ask) {
    const id = newId("paste");
    const words = h("p.hint", { role: "status" });
    const field = h("textarea.field.mono", { id, rows: 5, spellcheck: "false", "aria-describedby": id + "-words", oninput: preview,
      placeholder: kind === "score" ? "can wait\nthis week\ntoday" : "billing: Payments, invoices, refunds\nsales: Plans and upgrades\nother" });
    words.id = id + "-words";
    const add = h("button.btn.small", { type: "button", onclick: take }, "Add");
    const element = h("div.pastebox", { onkeydown: (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      ask.close();
    } },
    h("label", { for: id }, kind === "score" ? "One level per line, lowest first" : "One option per line, as id: description"), field, words,
    h("div.row", {}, add, h("button.btn.small.ghost", { type: "button", onclick: () => ask.close() }, "Cancel")));

    function merged() {
      return mergeList(ask.current(), parseList(field.value, kind), kind);
    }

    function preview() {
      const { added, changed } = merged();
      const word = kind === "score" ? "level" : "option";
      const parts = [];
      if (added) parts.push(`${added} new ${word}${added === 1 ? "" : "s"}`);
      if (changed.length) parts.push(`new description for ${changed.join(", ")}`);
      replace(words, parts.length ? shown(parts.join("; ")) : "nothing new");
      add.disabled = !parts.length;
    }

    function take() {
      const { options, added, changed } = merged();
      ask.take(options, added, changed.length);
    }

    return { element, open(text = "") { field.value = text; preview(); field.focus(); } };
  }

  return { optionList, pasteBox };
})();
