// The parts a question card is made of: growing text fields, problems beside them, and a menu for the keyboard.
window.clef.questionFields = (() => {
  "use strict";
  const { h, replace, shown } = window.clef;
  let lastId = 0;

  const newId = (name) => `clef-q-${name}-${++lastId}`;

  // A label only for screen readers; placeholders vanish and are no labels.
  function hiddenLabel(text, target) {
    return h("label.clef-visually-hidden", { for: target }, text);
  }

  // One growing text field. The text of a field is set only where it differs, so typing is never drawn over.
  // `onedit(text)` on each edit; `onkey(event)` before the field's own keys.
  function textField({ label, className = "", placeholder = "", onedit, onkey, onpaste }) {
    const id = newId("field");
    const input = h("textarea.field" + className, {
      id, rows: 1, placeholder, spellcheck: "false", autocomplete: "off", dir: "auto",
      oninput: () => { rest(); grow(); hidden(); onedit(input.value); },
      onkeydown: onkey, onpaste,
      onblur: () => { fresh = false; paint(); },
    });
    // The text behind the field gives it its height: `field-sizing: content` would cost a frame's time at each letter.
    const frame = h("div.grow" + className, {}, input);
    const name = hiddenLabel(label, id);
    const note = h("p.hint", { id: id + "-hidden", hidden: true });
    const list = h("div.problems", { id: id + "-problems", hidden: true });
    const element = h("div.fieldbox", {}, name, frame);
    const notes = h("div.fieldnotes", {}, note, list); // placed by the owner, where there is width to read
    let problems = [];
    let fresh = false; // new and not left yet: an empty field is not called a fault before the person was in it

    function rest() {
      if (fresh && input.value !== "") fresh = false;
    }

    function grow() {
      frame.dataset.text = input.value || input.placeholder;
    }

    // Invisible characters are shown by their codes under the field, which itself cannot show them.
    function hidden() {
      const view = shown(input.value);
      note.hidden = !view.querySelector(".clef-hidden-char");
      if (note.hidden) note.textContent = "";
      else replace(note, "hidden characters: ", view);
      describe();
    }

    function paint() {
      const visible = problems.length > 0 && !(fresh && input.value === "");
      list.hidden = !visible;
      const text = visible ? problems.join("\n") : "";
      if (list.textContent !== text) replace(list, problems.map((message) => h("p.problem", {}, shown(message))));
      if (!visible) list.textContent = "";
      input.setAttribute("aria-invalid", String(visible));
      describe();
    }

    function describe() {
      const ids = [!note.hidden && note.id, !list.hidden && list.id].filter(Boolean).join(" ");
      if (ids) input.setAttribute("aria-describedby", ids);
      else input.removeAttribute("aria-describedby");
    }

    grow();
    return {
      element, input, notes, frame,
      get visibleProblems() { return list.hidden ? 0 : problems.length; },
      set(text) {
        const held = text.replace(/\r\n?/g, "\n"); // what a text field makes of a carriage return
        if (input.value === held) return;
        input.value = held;
        grow();
        hidden();
      },
      setLabel(text) { if (name.textContent !== text) name.textContent = text; },
      setPlaceholder(text) {
        if (input.placeholder === text) return;
        input.placeholder = text;
        grow();
      },
      setProblems(messages) { problems = messages; paint(); },
      setFresh() { fresh = true; paint(); },
      reveal() { fresh = false; paint(); },
    };
  }

  // A field for a typed value: {text, raw}, null, or {default: true}. Clearing a text gives `empty()`.
  function valueField({ label, className = "", onedit, empty, onkey, placeholderOf }) {
    let value = null;
    const field = textField({
      label, className, onkey,
      onedit: (text) => { value = text === "" && !value?.raw ? empty() : { text, raw: Boolean(value?.raw) }; mark(); onedit(value); },
    });
    const tag = h("span.tag", { hidden: true });
    field.element.classList.add("value");
    field.element.append(tag);

    function mark() {
      const word = value?.raw ? "JSON" : value?.text === "" ? "empty text" : "";
      tag.hidden = !word;
      if (tag.textContent !== word) tag.textContent = word;
      for (const part of [field.input, field.frame]) part.classList.toggle("mono", Boolean(value?.raw));
      field.setPlaceholder(value?.raw ? 'a JSON value, such as 1.0 or {"a": 1}' : placeholderOf(value));
      field.setLabel(value?.raw ? label + ", JSON value" : label);
    }

    return Object.assign(field, {
      value: () => value, // a method, since Object.assign would read a getter once
      setValue(next) {
        value = next;
        field.set(next?.text ?? "");
        mark();
      },
      rename(text) { label = text; mark(); },
      // The ways to hold this value that a text field cannot express, as entries of a menu.
      kinds() {
        const become = (next) => () => { field.setValue(next); onedit(next); field.input.focus(); };
        const text = field.input.value;
        return [
          value?.raw
            ? { label: "Write as text", run: become(text === "" ? empty() : { text: unquoted(text), raw: false }) }
            : { label: "Write as JSON value", run: become({ text: quoted(text), raw: true }) },
          value?.text === "" && !value.raw ? null : { label: "Empty text", run: become({ text: "", raw: false }), disabled: text !== "" },
        ].filter(Boolean);
      },
    });
  }

  // A text as a JSON literal: as it stands when it is one, else in quotes; and back.
  function quoted(text) {
    return text === "" || parsed(text) !== undefined ? text : JSON.stringify(text);
  }

  function unquoted(literal) {
    const value = parsed(literal);
    return typeof value === "string" ? value : literal;
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  // A button with a menu: arrows move, Escape and Tab close, focus returns to the button. `entries()` is asked on opening.
  function menuButton(label, entries) {
    const id = newId("menu");
    let list = null;
    const button = h("button.btn.ghost.icon", {
      type: "button", "aria-label": label, title: label, "aria-haspopup": "menu", "aria-expanded": "false", "aria-controls": id,
      onclick: () => (list ? close(true) : open(0)),
      onkeydown: (event) => {
        if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
        if (event.altKey) return;
        event.preventDefault();
        open(event.key === "ArrowDown" ? 0 : -1);
      },
    }, "⋯");
    const element = h("span.menubox", { onfocusout: (event) => { if (list && !element.contains(event.relatedTarget)) close(false); } }, button);

    function open(at) {
      close(false);
      list = h("ul.menu", { role: "menu", id, "aria-label": label, onkeydown: keys });
      for (const entry of entries()) {
        const choose = () => { close(true); entry.run(); };
        const item = h("button", { type: "button", role: "menuitem", tabIndex: -1, "aria-disabled": entry.disabled ? "true" : null, onclick: entry.disabled ? null : choose },
          h("span", {}, entry.label), entry.keys && h("kbd", { "aria-hidden": "true" }, entry.keys));
        if (entry.keys) item.setAttribute("aria-keyshortcuts", entry.keys.replace("↑", "ArrowUp").replace("↓", "ArrowDown").replace(" ", "+"));
        list.append(h("li", { role: "none", class: entry.apart ? "apart" : null }, item));
      }
      element.append(list);
      button.setAttribute("aria-expanded", "true");
      if (list.getBoundingClientRect().bottom > window.innerHeight - 70) list.classList.add("above");
      focusItem(at);
    }

    function items() {
      return [...list.querySelectorAll("button")];
    }

    function focusItem(at) {
      const all = items();
      all[(at + all.length) % all.length]?.focus();
    }

    function keys(event) {
      const all = items();
      const at = all.indexOf(document.activeElement);
      const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
      if (event.key in moves) focusItem(moves[event.key]);
      else if (event.key === "Escape") close(true);
      else if (event.key === "Tab") return close(true);
      else if (event.key.length === 1 && /\S/.test(event.key)) {
        const next = [...all.slice(at + 1), ...all.slice(0, at + 1)].find((item) => item.textContent.toLowerCase().startsWith(event.key.toLowerCase()));
        next?.focus();
      } else return undefined;
      if (event.key === "Enter" || event.key === " ") return undefined;
      event.preventDefault();
      event.stopPropagation(); // Escape also stops a run
      return undefined;
    }

    function close(back) {
      if (!list) return;
      const gone = list;
      list = null;
      button.setAttribute("aria-expanded", "false");
      if (back) button.focus();
      gone.remove();
    }

    return { element, button };
  }

  function iconButton(label, sign, onclick) {
    return h("button.btn.ghost.icon", { type: "button", "aria-label": label, title: label, onclick }, h("span", { "aria-hidden": "true" }, sign));
  }

  // Keys that belong to the page, such as Ctrl+Enter, and half-composed letters are nobody's edit.
  function isPlain(event) {
    return !event.ctrlKey && !event.metaKey && !event.isComposing;
  }

  return { newId, textField, valueField, menuButton, iconButton, isPlain };
})();
