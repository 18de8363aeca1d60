// A photo or a short clip from the camera, in a dialog that says why when there is none.
(() => {
  "use strict";
  const { h, replace } = window.clef;
  const MAX_SECONDS = 10; // a clip of more is cut to 768 frames by the release and costs thousands of tokens

  function reason(error) {
    if (!navigator.mediaDevices?.getUserMedia) return "This browser gives no camera to a page that is not served over https or from this machine. Pick a file instead.";
    if (error?.name === "NotAllowedError") return "The browser was told not to give the camera to this page. Allow it in the address bar, or pick a file instead.";
    if (error?.name === "NotFoundError") return "No camera was found. Connect one, or pick a file instead.";
    return `The camera could not be opened (${error?.name || "unknown reason"}). Pick a file instead.`;
  }

  // Resolves with a list of files, or null when the dialog was left.
  window.clef.camera = async () => {
    let stream = null;
    let recorder = null;
    const result = await window.clef.dialog("Camera", async (body, close) => {
      const status = h("p.muted", { role: "status" }, "Waiting for the camera…");
      body.append(status);
      try {
        stream = await navigator.mediaDevices.getUserMedia({ video: true });
      } catch (error) {
        replace(status, reason(error));
        return;
      }
      const video = h("video.clef-camera", { autoplay: true, muted: true, playsInline: true, "aria-label": "Camera" });
      video.srcObject = stream;
      const photo = h("button.btn.primary", { type: "button", onclick: () => takePhoto(video, close) }, "Take a photo");
      const record = h("button.btn", { type: "button", disabled: !window.MediaRecorder }, "Record a clip");
      record.addEventListener("click", () => {
        if (recorder) return recorder.stop();
        recorder = startClip(stream, close);
        record.textContent = "Stop recording";
        photo.disabled = true;
        replace(status, `Recording, up to ${MAX_SECONDS} seconds.`);
        return undefined;
      });
      replace(status, window.MediaRecorder ? "" : "This browser records no clips; a photo works.");
      body.append(video, h("div.dialog-actions", {}, photo, record));
      photo.focus();
    });
    if (recorder && recorder.state !== "inactive") recorder.stop();
    stream?.getTracks().forEach((track) => track.stop());
    return result;
  };

  function takePhoto(video, close) {
    const canvas = document.createElement("canvas");
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    canvas.getContext("2d").drawImage(video, 0, 0);
    canvas.toBlob((blob) => close(blob ? [new File([blob], "photo.png", { type: "image/png" })] : null), "image/png");
  }

  function startClip(stream, close) {
    const chunks = [];
    const recorder = new MediaRecorder(stream);
    recorder.ondataavailable = (event) => chunks.push(event.data);
    recorder.onstop = () => {
      const type = (recorder.mimeType || "video/webm").split(";")[0];
      close(chunks.length ? [new File([new Blob(chunks, { type })], `clip.${type.split("/")[1]}`, { type })] : null);
    };
    recorder.start();
    setTimeout(() => recorder.state === "recording" && recorder.stop(), MAX_SECONDS * 1000);
    return recorder;
  }
})();
