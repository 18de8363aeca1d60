// Charts by Plotly, fetched from our own server when the first one is opened. The numbers stand in a table beside each.
window.clef.charts = (() => {
  "use strict";
  const { h, replace, on, shown } = window.clef;
  const SCRIPT = "clef/plotly.js";
  const COLOURS = {
    light: ["#1d4ed8", "#c2410c", "#0f766e", "#7c3aed", "#a16207", "#be185d", "#4d7c0f", "#475569"],
    dark: ["#60a5fa", "#fb923c", "#2dd4bf", "#a78bfa", "#fbbf24", "#f472b6", "#a3e635", "#cbd5e1"],
  };
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
  const MARKS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star"];
  const CONFIG = { displayModeBar: false, responsive: true, showTips: false };
  const live = new Set(); // charts on the page: {box, draw}
  let library = null;

  function load() {
    library ||= new Promise((resolve, reject) => {
      const script = h("script", { src: new URL(SCRIPT, document.baseURI).href, async: true });
      const fail = () => { library = null; script.remove(); reject(new Error("the chart's script could not be loaded")); };
      script.onload = () => (window.Plotly ? resolve(window.Plotly) : fail());
      script.onerror = fail;
      document.head.append(script);
    });
    return library;
  }

  // Plotly reads tags and entities in names and labels; a person's text must stay text.
  const plain = (text) => shown(String(text)).textContent.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  function theme() {
    const style = getComputedStyle(document.querySelector(".gradio-container"));
    const dark = document.body.classList.contains("dark");
    const value = (name) => style.getPropertyValue(`--clef-${name}`).trim();
    return { value, dark, colours: COLOURS[dark ? "dark" : "light"], font: { family: "system-ui, sans-serif", size: 12, color: value("ink-2") } };
  }

  // A place that `figure(theme)`, {data, layout}, is drawn into now and whenever the theme changes.
  function place(label, figure, height) {
    const box = h("div.chart", { role: "img", "aria-label": label, style: { height } }, h("p.muted", {}, "Drawing…"));
    const chart = { box, draw };
    async function draw() {
      try {
        const plotly = await load();
        if (!box.isConnected) return;
        if (!box.classList.contains("js-plotly-plot")) replace(box);
        const { data, layout } = figure(theme());
        const shell = { paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: theme().font, dragmode: false, hoverlabel: { bgcolor: theme().value("panel"), bordercolor: theme().value("line-strong"), font: { color: theme().value("ink") } } };
        await plotly.react(box, data, { ...shell, ...layout }, CONFIG);
        box.dataset.drawn = "true";
      } catch (error) {
        replace(box, h("p.muted", {}, `No chart: ${error.message}. The table has the same numbers.`));
      }
    }
    live.add(chart);
    requestAnimationFrame(draw);
    return box;
  }

  on("theme", () => {
    for (const chart of live) {
      if (chart.box.isConnected) chart.draw();
      else live.delete(chart);
    }
  });

  const padded = (x) => { const room = Math.max(1, x.at(-1) - x[0]) * 0.02; return [x[0] - room, x.at(-1) + room]; };

  // Lines over the same x values. lines: [{name, y}]; marks: [{x, text}], vertical.
  function lines({ label, xTitle, x, lines, marks }) {
    return place(label, ({ value, colours, font }) => ({
      data: lines.map((line, index) => ({
        type: "scatter", mode: "lines+markers", x, y: line.y.map((p) => 100 * p), name: plain(line.name),
        line: { color: colours[index % colours.length], dash: DASHES[index % DASHES.length], width: 2 },
        marker: { symbol: MARKS[index % MARKS.length], size: 7, color: colours[index % colours.length] },
        hovertemplate: "%{y:.1f} %",
      })),
      layout: {
        margin: { l: 52, r: 14, t: marks.length > 1 ? 40 : 26, b: 44 }, hovermode: "x unified", showlegend: true,
        legend: { orientation: "h", y: -0.22, x: 0, font: { ...font, color: value("ink") } },
        xaxis: { title: { text: xTitle, standoff: 8, font: { size: 12 } }, range: padded(x), gridcolor: value("line"), zeroline: false, tickformat: ",d", hoverformat: ",d" },
        yaxis: { range: [-2, 102], ticksuffix: " %", gridcolor: value("line"), zeroline: false, fixedrange: true },
        shapes: marks.map((mark) => ({ type: "line", x0: mark.x, x1: mark.x, y0: 0, y1: 1, yref: "paper", line: { color: value("ink-3"), width: 1.5, dash: "dot" } })),
        annotations: marks.map((mark, index) => ({ x: mark.x, yshift: 14 * index, y: 1, yref: "paper", yanchor: "bottom", xanchor: mark.x > (x[0] + x.at(-1)) / 2 ? "right" : "left", text: mark.text, showarrow: false, font: { ...font, size: 11 } })),
      },
    }), "340px");
  }

  // Nested parts, each as wide as its share. parts: [{id, parent, label, value, hover, status, leaf}], the root first.
  function icicle({ label, parts }) {
    const column = (read) => parts.map(read);
    return place(label, ({ value, font }) => {
      const fills = { kept: value("tint-state"), cut: value("tint-question"), lost: value("tint-bad") };
      const shapes = { kept: "", cut: ".", lost: "/" };
      const shape = (part) => (part.status === "cut" && !part.leaf ? "" : shapes[part.status]);
      return {
        data: [{
          type: "icicle", branchvalues: "total", maxdepth: 5, sort: false, ids: column((part) => part.id), parents: column((part) => part.parent),
          labels: column((part) => plain(part.label)), values: column((part) => part.value), hovertext: column((part) => plain(part.hover)), hoverinfo: "text",
          textinfo: "label+value", textfont: { ...font, color: value("ink") }, tiling: { orientation: "v", pad: 1 }, pathbar: { visible: true, textfont: { ...font, color: value("ink") } },
          marker: {
            colors: column((part) => fills[part.status]), line: { color: value("line-strong"), width: 1 },
            pattern: { shape: column(shape), fgcolor: column(() => value("cut")), fillmode: "overlay", fgopacity: 0.55, size: 9, solidity: 0.12 },
          },
        }],
        layout: { margin: { l: 0, r: 0, t: 4, b: 4 }, uniformtext: { minsize: 10, mode: "hide" } },
      };
    }, "320px");
  }

  return { load, lines, icicle };
})();
