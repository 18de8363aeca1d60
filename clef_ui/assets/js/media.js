// Pictures and clips: added by drop, paste, pick or camera, in order, each with what the model gets of it.
(() => {
  "use strict";
  const { h, replace, append, on, call, debounce, shown, tokens, setText } = window.clef;
  const plural = (count, word) => `${tokens(count)} ${word}${count === 1 ? "" : "s"}`;
  const size = (pair) => `${pair[0]} × ${pair[1]}`;

  // `api`: getDraft(), update(patch, options), notify(text, options), server, setup {maxImages, maxVideos, maxUploadBytes}
  window.clef.mediaSection = (container, api) => {
    const views = new Map(); // key of an item -> what Python says of it
    let pending = 0;
    let accepts = null;
    const list = h("ul.clef-media", { "aria-label": "Pictures and clips, in the order the model gets them" });
    const picker = h("input", {
      type: "file", accept: "image/*,video/*", multiple: true, hidden: true,
      onchange: () => { takeFiles([...picker.files]); picker.value = ""; },
    });
    const pick = h("button.clef-drop", { type: "button", onclick: () => picker.click() }, "Drop, paste or pick", h("br"), " images or a video");
    const camera = h("button.btn.small.ghost", { type: "button", onclick: openCamera }, "Camera");
    const asFrames = h("button.btn.small.ghost", { type: "button", hidden: true, onclick: makeClip }, "Use pictures as frames");
    const note = h("p.clef-media-note.muted", { hidden: true });
    const state = h("span.clef-visually-hidden", { role: "status" });
    append(container, [
      h("div.sechead", {}, h("h2", {}, "Media"), h("span.grow"), h("span.muted.small", {}, "before the state, images first"), asFrames, camera),
      note, h("div.clef-media-row", {}, list, pick, picker), state,
    ]);

    const items = () => api.getDraft().media;
    const keyOf = (item) => `${item.id}/${item.kind}/${item.frames ?? ""}/${item.fps ?? ""}`;

    function set(media, undo) {
      api.update({ media }, undo ? { undo } : {});
      draw();
      fetchViews();
    }

    async function takeFiles(files) {
      for (const file of files) {
        const images = items().filter((item) => item.kind === "image").length;
        const kind = (file.type || "").split("/")[0];
        if (kind !== "image" && kind !== "video") {
          api.notify(`“${file.name}” is of type ${file.type || "unknown"}; images and videos are taken here.`, { bad: true });
        } else if (file.size > api.setup.maxUploadBytes) {
          api.notify(`“${file.name}” has ${tokens(file.size)} bytes and ${tokens(api.setup.maxUploadBytes)} are allowed. Make it smaller or shorter.`, { bad: true });
        } else if (kind === "image" && images >= api.setup.maxImages) {
          api.notify(`“${file.name}” was not added: a record takes ${plural(api.setup.maxImages, "image")} here. Remove one first.`, { bad: true });
        } else if (kind === "video" && items().length - images >= api.setup.maxVideos) {
          api.notify(`“${file.name}” was not added: a record takes ${plural(api.setup.maxVideos, "video")} here. Remove it first.`, { bad: true });
        } else {
          await upload(file);
        }
      }
    }

    async function upload(file) {
      pending += 1;
      draw();
      try {
        const url = await new Promise((resolve, reject) => {
          const reader = new FileReader();
          reader.onload = () => resolve(reader.result);
          reader.onerror = () => reject(new Error(`“${file.name}” could not be read from the disk.`));
          reader.readAsDataURL(file);
        });
        const { item, view } = await call(api.server, "add_media", { name: file.name, url });
        if (item) {
          views.set(keyOf(item), view);
          // images come before videos in the prompt, so they do here
          const media = [...items(), item];
          api.update({ media: [...media.filter((each) => each.kind === "image"), ...media.filter((each) => each.kind === "video")] });
        }
      } catch (error) {
        api.notify(error.message, { bad: true });
      } finally {
        pending -= 1;
        draw();
      }
    }

    async function makeClip() {
      const pictures = items().filter((item) => item.kind === "image");
      try {
        const { item, view } = await call(api.server, "add_frames", { name: `${pictures.length} pictures`, ids: pictures.map((each) => each.id) });
        views.set(keyOf(item), view);
        set([...items().filter((each) => each.kind === "video"), item], `${pictures.length} pictures are now the frames of one clip.`);
      } catch (error) {
        api.notify(error.message, { bad: true });
      }
    }

    const fetchViews = debounce(60, async () => {
      const wanted = items().filter((item) => !views.has(keyOf(item)));
      if (!wanted.length) return;
      try {
        const answer = await call(api.server, "media_views", wanted);
        answer.items.forEach((view, index) => views.set(keyOf(wanted[index]), view));
      } catch (error) {
        api.notify(error.message, { bad: true });
      }
      draw();
    });

    function move(index, step) {
      const media = [...items()];
      const other = media[index + step];
      if (!other || other.kind !== media[index].kind) return;
      [media[index], media[index + step]] = [other, media[index]];
      set(media);
      list.children[index + step]?.focus();
      setText(state, `moved to place ${index + step + 1} of ${media.length}`);
    }

    function remove(index) {
      const item = items()[index];
      set(items().filter((_, place) => place !== index), `Removed “${item.name}”.`);
      (list.children[Math.min(index, list.children.length - 1)] || pick).focus();
    }

    function keys(event, index) {
      if (event.target !== event.currentTarget && event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      if (event.altKey && event.key === "ArrowLeft") move(index, -1);
      else if (event.altKey && event.key === "ArrowRight") move(index, 1);
      else if ((event.key === "Delete" || event.key === "Backspace") && event.target === event.currentTarget) remove(index);
      else return;
      event.preventDefault();
    }

    function caption(view) {
      if (!view) return "reading…";
      if (view.problem) return h("span.problem", {}, shown(view.problem));
      const resized = view.given[0] !== view.shown[0] || view.given[1] !== view.shown[1];
      return [
        h("span", {}, size(view.given), resized ? ` → ${size(view.shown)}` : ""), h("br"),
        h("span.num", {}, `${tokens(view.tokens)} tokens`), h("span.muted", {}, ` grid ${view.grid.join("·")}`),
        view.notices.map((notice) => h("span.advice.clef-block", {}, shown(notice))),
      ];
    }

    function drawItem(item, index) {
      const view = views.get(keyOf(item));
      const clip = item.kind === "video";
      const same = items().filter((each) => each.kind === item.kind);
      const place = same.indexOf(item);
      const label = `${clip ? "clip" : "image"} ${place + 1} of ${same.length}, ${item.name}`;
      const tools = h("div.tools", {},
        same.length > 1 ? [tool("‹", `Move ${item.name} earlier`, () => move(index, -1), place === 0), tool("›", `Move ${item.name} later`, () => move(index, 1), place === same.length - 1)] : null,
        tool("×", `Remove ${item.name}`, () => remove(index)));
      return h(clip ? "li.thumb.clip" : "li.thumb", { tabindex: 0, "aria-label": label, onkeydown: (event) => keys(event, index) },
        clip ? frames(view) : h("div.picture", {}, view?.previews?.length ? h("img", { src: view.previews[0], alt: `${item.name} as the model sees it` }) : null),
        h("div.what", {}, h("div.namerow", {}, h("div.name.ell", { title: item.name }, shown(item.name)), tools),
          h("small", {}, caption(view)), clip && view && !view.problem ? slider(item, index, view) : null));
    }

    const tool = (sign, label, act, off) => h("button.btn.ghost.small", { type: "button", "aria-label": label, disabled: Boolean(off), onclick: act }, sign);

    function frames(view) {
      const times = view?.frames || [];
      return h("ol.clef-frames", { "aria-label": "Frames the model gets" }, times.map((frame, index) =>
        h("li", {}, view.previews[index] ? h("img", { src: view.previews[index], alt: "" }) : h("span.gap"), h("small.num", {}, `${frame.seconds.toFixed(1)} s`))),
        view && view.numFrames > times.length ? h("li.muted", {}, `and ${view.numFrames - times.length} more`) : null);
    }

    function slider(item, index, view) {
      const value = h("output.num", {}, String(view.numFrames));
      const change = (part) => set(items().map((each, place) => (place === index ? { ...each, ...part } : each)));
      const ask = debounce(180, (frames) => change({ frames }));
      return h("div.clef-slider", {}, h("span", {}, "frames ", value, ` of ${view.totalFrames}, ${tokens(view.tokensPerFrame)} tokens each`),
        h("input", {
          "aria-label": `Number of frames of ${item.name}`,
          type: "range", min: "2", max: String(Math.min(view.totalFrames, view.maxFrames)), value: String(view.numFrames), "data-clip": item.id,
          oninput: (event) => { setText(value, event.target.value); ask(Number(event.target.value)); },
        }),
        view.fps === null ? null : h("label", {}, "pictures a second ", h("input.field.num.clef-fps", {
          type: "number", min: "0.1", max: "120", step: "any", value: String(view.fps),
          onchange: (event) => { if (Number(event.target.value) > 0) change({ fps: Number(event.target.value) }); },
        })),
        item.frames ? h("button.btn.ghost.small", { type: "button", onclick: () => change({ frames: null }) }, "as the release") : null);
    }

    function draw() {
      const focused = document.activeElement?.dataset?.clip; // a slider keeps the focus while its clip is drawn again
      replace(list, items().map(drawItem), pending ? h("li.thumb.busy", { role: "status" }, h("small", {}, "uploading…")) : null);
      list.hidden = !list.children.length;
      if (focused) [...list.querySelectorAll("input[data-clip]")].find((input) => input.dataset.clip === focused)?.focus();
      asFrames.hidden = items().filter((item) => item.kind === "image").length < 2;
      note.hidden = !(accepts === false && items().length);
      pick.classList.toggle("slim", items().length > 0);
    }

    async function openCamera() {
      const files = await window.clef.camera();
      if (files) takeFiles(files);
    }

    on("status", (status) => {
      if (!status.loading.done || status.loading.problem) return;
      accepts = status.acceptsMedia;
      replace(note, shown(status.name), " reads text only, so a run with media is refused. What the media would cost a model that sees is counted all the same.");
      draw();
    });

    return {
      takeFiles,
      render() { draw(); fetchViews(); },
      applyPlan() {},
      focus() { pick.focus(); },
    };
  };
})();
