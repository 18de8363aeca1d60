// The left column: owns the draft, keeps it, has it planned as one types, and hands it to its sections and the run bar.
//
// A section is made by `clef.<name>Section(container, api)` or `clef.questionsBuilder(container, api)` and returns
// {render(draft), applyPlan(planView), focus() | focusProblem(problem)}. `api.update(patch, options)` replaces keys of
// the draft; the section that calls it is not drawn again unless `options.redraw`. `options.undo`, a sentence such as
// "Removed question “team”.", makes the change one that can be undone.
(() => {
  "use strict";
  const { h, on, emit, call, debounce, storage, fingerprint, shown } = window.clef;
  const PLAN_MS = 150;
  const MAX_UNDO = 20;
  const OWNS = { // which keys of the draft a section draws
    state: ["stateMode", "stateText"],
    media: ["media"],
    questions: ["questionsMode", "questionsText", "questions"],
    limits: ["limits"],
  };

  window.clef.panels.editor = (root, panel) => {
    const setup = JSON.parse(panel.props.setup);
    const { server } = panel;
    const undoStack = []; // {draft, text}
    let draft = null;
    let readsMedia = true; // until the model says otherwise
    let pristine = ""; // fingerprint of the preset that was loaded, as long as it is unchanged
    let sequence = 0;
    let planned = 0;

    const note = h("div.clef-presetnote.note", { hidden: true });
    const containers = Object.fromEntries(Object.keys(OWNS).map((name) => [name, name === "questions" ? h("div.sec") : h("section.sec", { "aria-label": name[0].toUpperCase() + name.slice(1) })]));
    const foot = h("div.clef-runbar", { role: "region", "aria-label": "Run" });
    root.classList.add("clef-editor");
    root.append(note, ...Object.values(containers), foot);
    const bar = window.clef.runBar(foot, { getDraft: () => draft, panel, server, focusProblem });
    const api = (name) => ({
      getDraft: () => draft, server, setup, fill, notify: bar.notify,
      update: (patch, options = {}) => update(patch, { source: name, ...options }),
    });
    const sections = {
      state: window.clef.stateSection(containers.state, api("state")),
      media: window.clef.mediaSection(containers.media, api("media")),
      questions: window.clef.questionsBuilder?.(containers.questions, api("questions")),
      limits: window.clef.limitsSection(containers.limits, api("limits")),
    };

    // --- the draft ---

    function update(patch, { source = "", undo = "", redraw = false } = {}) {
      if (undo) remember(undo);
      draft = { ...draft, ...patch };
      for (const [name, keys] of Object.entries(OWNS)) {
        const mine = keys.some((key) => key in patch);
        if (mine && (name !== source || redraw)) sections[name]?.render(draft);
      }
      if (Object.keys(patch).some((key) => key !== "view")) changed(source);
      else seen(source);
    }

    function seen(source) {
      window.clef.setDraft(draft, source);
      keep();
    }

    function changed(source) {
      seen(source);
      sequence += 1;
      planSoon();
    }

    function load(next, { reason = "", source = "load", preset = false } = {}) {
      const before = draft;
      draft = next;
      pristine = preset ? fingerprint(next) : "";
      for (const section of Object.values(sections)) section?.render(draft);
      drawNote();
      changed(source);
      planSoon.cancel();
      planNow();
      if (before && reason) {
        undoStack.push({ draft: before, text: reason });
        bar.notify(reason, { action: ["Undo", undo] });
      }
    }

    function remember(text) {
      undoStack.push({ draft, text });
      if (undoStack.length > MAX_UNDO) undoStack.shift();
      bar.notify(text, { action: ["Undo", undo] });
    }

    function undo() {
      const last = undoStack.pop();
      if (!last) return bar.notify("There is nothing to undo; inside a field the browser's own undo works.");
      load(last.draft, { source: "undo" });
      return bar.notify(`Undone: ${last.text}`);
    }

    const keep = debounce(300, () => {
      const problem = storage.saveDraft(draft, pristine === fingerprint(draft) ? "preset" : "own");
      if (problem && !keep.said) bar.notify(problem, { bad: true });
      keep.said = Boolean(problem);
    });
    window.addEventListener("pagehide", () => { if (draft) storage.saveDraft(draft, pristine === fingerprint(draft) ? "preset" : "own"); });

    function drawNote() {
      const preset = setup.presets.find((each) => each.slug === draft.view?.preset);
      note.hidden = !preset;
      if (!preset) return;
      const close = h("button.btn.ghost.small", { type: "button", "aria-label": "Hide this note", onclick: () => { update({ view: { ...draft.view, preset: null } }); drawNote(); } }, "×");
      window.clef.replace(note, h("div", {}, h("b", {}, shown(preset.title)), " ", shown(preset.note)), close);
    }

    // --- the plan: one call at a time, the newest draft wins ---

    let asking = false;
    async function planNow() {
      if (asking || planned === sequence) return;
      asking = true;
      const mine = sequence;
      try {
        const view = await call(server, "plan", JSON.stringify(draft));
        planned = mine;
        if (mine === sequence) {
          for (const section of Object.values(sections)) section?.applyPlan(view);
          bar.applyPlan(view);
          emit("plan", view);
        }
      } catch (error) {
        planned = mine;
        bar.notify(error.message, { bad: true });
      } finally {
        asking = false;
      }
      if (planned !== sequence) planSoon();
    }
    const planSoon = debounce(PLAN_MS, planNow);

    function focusProblem(problem) {
      const section = sections[problem?.area] || sections.state;
      if (section.focusProblem) section.focusProblem(problem);
      else section.focus();
    }

    // --- filling in: pasted or dropped text, presets, links ---

    // Fills everything from a request, a question map or a curl command; false when the text is none of them.
    async function fill(text) {
      let found;
      try {
        found = await call(server, "paste", JSON.stringify({ text, draft }));
      } catch (error) {
        bar.notify(error.message, { bad: true });
        return false;
      }
      if (!found.draft) return false;
      load({ ...found.draft, view: {} }, { reason: found.filled, source: "paste" });
      return true;
    }

    async function openPresets() {
      const slug = await window.clef.presetGallery(setup.presets);
      if (slug) loadPreset(slug);
    }

    async function loadPreset(slug) {
      try {
        const { draft: next, title } = await call(server, "preset", slug);
        load({ ...next, view: { preset: slug } }, { reason: `Loaded the preset “${title}”.`, source: "preset", preset: true });
        if (readsMedia || !next.media.length) bar.restart(); // a run by itself must not end in a refusal
        else bar.stop({ quietly: true });
      } catch (error) {
        bar.notify(error.message, { bad: true });
      }
    }

    async function copyLink() {
      let address;
      try {
        address = await storage.link(draft);
      } catch (error) {
        return bar.notify(error.message, { bad: true });
      }
      try {
        await navigator.clipboard.writeText(address);
      } catch { // there is no clipboard on plain http, or it was forbidden
        return window.clef.dialog("Link to this set-up", (body) => body.append(
          h("p", {}, "The browser does not let the page copy. Copy the link from here:"),
          h("textarea.clef-state", { readOnly: true, rows: 6, autofocus: true, "aria-label": "Link", onfocus: (event) => event.target.select() }, address)));
      }
      return bar.notify(`The link is copied (${window.clef.tokens(address.length)} characters). It holds the whole set-up${draft.media.length ? " except the pictures and clips" : ""} and nothing is stored on a server.`);
    }

    async function openLink() {
      let linked;
      try {
        linked = await storage.fromAddress();
      } catch (error) {
        bar.notify(error.message, { bad: true });
      }
      if (!location.hash.startsWith("#c")) return;
      history.replaceState(null, "", location.pathname + location.search);
      if (!linked || fingerprint(linked) === fingerprint(draft)) return;
      const own = pristine !== fingerprint(draft);
      const answer = own ? await window.clef.ask("Open the set-up of this link?", [
        "Your own draft is on the page. Opening the link replaces it; “Undo” brings it back.",
      ], { open: "Open the link", stay: "Keep my draft" }) : "open";
      if (answer === "open") load({ ...linked, view: {} }, { reason: "Opened the set-up of the link. Pictures and clips do not travel with a link.", source: "link" });
    }

    // --- the page around it ---

    function takeFiles(files) {
      const media = files.filter((file) => /^(image|video)\//.test(file.type));
      const others = files.filter((file) => !media.includes(file));
      if (media.length) sections.media.takeFiles(media);
      if (others.length > 1) bar.notify("One text or JSON file at a time can be dropped; only the first was read.", { bad: true });
      if (others.length) sections.state.takeFile(others[0]);
    }

    const hasFiles = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
    document.addEventListener("dragover", (event) => { if (hasFiles(event)) { event.preventDefault(); root.classList.add("dropping"); } });
    document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) root.classList.remove("dropping"); });
    document.addEventListener("drop", (event) => {
      root.classList.remove("dropping");
      if (!hasFiles(event) || event.defaultPrevented) return; // another part of the page took it
      event.preventDefault();
      takeFiles([...event.dataTransfer.files]);
    });
    document.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files || [])].filter((file) => /^(image|video)\//.test(file.type));
      if (!files.length) return;
      event.preventDefault();
      sections.media.takeFiles(files);
    });
    window.addEventListener("hashchange", openLink);
    on("load-draft", ({ draft: next, reason }) => {
      const normal = storage.normal(next);
      if (normal) load(normal, { reason });
    });
    on("undo", undo);
    on("status", (status) => { if (status.loading.done) readsMedia = status.acceptsMedia !== false; });
    on("notify", ({ text, ...options }) => bar.notify(text, options));
    on("open-presets", openPresets);
    on("copy-link", copyLink);
    // A tab by its name or by its place from 1; on a narrow page the last ones stand in a menu.
    on("open-tab", (wanted) => {
      const tabs = [...document.querySelectorAll("#clef-tabs [role=tab], #clef-tabs .overflow-dropdown button")];
      const nameOf = (tab) => tab.dataset.tabId || tab.textContent.trim().toLowerCase().replaceAll(" ", "-");
      const tab = tabs.find((each, index) => nameOf(each) === wanted || index + 1 === wanted);
      tab?.click();
      tab?.focus();
    });

    const stored = storage.loadDraft();
    const first = storage.normal(setup.first);
    if (stored) {
      load(stored.draft, { source: "stored" });
      if (stored.origin === "preset") pristine = fingerprint(draft);
    } else load(first, { source: "first", preset: true });
    const worked = fingerprint(draft) === fingerprint(first); // an untouched first page shows its answer at once
    if (worked && !location.hash.startsWith("#c")) bar.start({ byItself: true });
    openLink();
  };
})();
