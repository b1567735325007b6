// Numbers of tasks over the calls of the target, so that runs of different policies compare.

import uPlot from "./vendor/uplot.js";
import { useEffect, useRef } from "./vendor/hooks.js";
import { html, short } from "./html.js";

const COLOURS = ["--blue", "--orange", "--green", "--purple", "--sky", "--yellow"];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Pixels of the size of text that the reader has set. */
function rem() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** What the marks stand for. */
export const MARKS = "● accepted ○ rejected · skipped.";

/** `series`: `{name, kind, colour, points: [[calls, value, action]]}`, with values from 0 to `top`; a kind is `line`, `thin` or `mark`, whose values are scores on the scale at the right. */
export function Curves({ series, top, label }) {
  const place = useRef(null);
  const chart = useRef(null);
  const shape = JSON.stringify([top, series.map((one) => [one.name, one.kind])]);
  const data = joined(series);
  useEffect(() => {
    const made = () => {
      chart.current?.destroy();
      chart.current = new uPlot(options(series, place.current.clientWidth, top), data, place.current);
    };
    made();
    const resized = new ResizeObserver(() => chart.current.setSize({ width: place.current.clientWidth, height: 16 * rem() }));
    resized.observe(place.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", made);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", made);
      chart.current.destroy();
      chart.current = null;
    };
  }, [shape]);
  useEffect(() => chart.current?.setData(data), [JSON.stringify(data)]);
  return html`<div class="chart" role="img" aria-label=${label} ref=${place}></div>`;
}

/** All series over one row of calls, as uPlot wants them. */
function joined(series) {
  const calls = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  const rows = series.map((one) => {
    const values = new Map(one.points.map((point) => [point[0], point[1]]));
    return calls.map((at) => values.get(at) ?? null);
  });
  return [calls, ...rows];
}

function options(series, width, top) {
  const soft = colour("--soft");
  const line = colour("--line");
  const font = `${0.75 * rem()}px system-ui, sans-serif`;
  const axis = { stroke: soft, font, size: 3 * rem(), labelSize: 1.25 * rem(), labelFont: font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const scored = series.some((one) => one.kind === "mark");
  const begin = Math.min(0, ...series.flatMap((one) => one.points.map((point) => point[0])));
  return {
    width,
    height: 16 * rem(),
    legend: { live: false },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false, range: (_, __, end) => [begin, end * 1.03] }, y: { range: [0, top * 1.03] }, score: { range: [0, 1.03] } },
    axes: [
      { ...axis, size: 2 * rem(), label: "calls of the target", values: (_, ticks) => ticks.map(short) },
      { ...axis, label: "tasks" },
      ...(scored ? [{ ...axis, scale: "score", side: 1, grid: { show: false }, label: "score" }] : []),
    ],
    series: [{ label: "calls" }, ...series.map(one)],
  };
}

function one(each, number) {
  if (each.kind === "thin") return { label: each.name, stroke: colour("--soft"), dash: [3, 3], width: 1, spanGaps: true, points: { show: false } };
  const stroke = colour(each.colour ?? COLOURS[number % COLOURS.length]);
  const drawn = each.kind === "mark" ? { scale: "score", width: 1, dash: [2, 4] } : { width: 2 };
  return { label: each.name, stroke, spanGaps: true, points: marked(each, stroke), ...drawn };
}

/** Points by what was decided: full for accepted, hollow for rejected, small for skipped; squares for scores. */
function marked(each, stroke) {
  const kinds = new Map(each.points.map((point) => [point[0], point[2]]));
  return {
    show: (plot, index) => {
      const { ctx } = plot;
      ctx.save();
      ctx.strokeStyle = stroke;
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.setLineDash([]);
      plot.data[0].forEach((calls, at) => {
        const value = plot.data[index][at];
        if (value === null || value === undefined) return;
        const kind = kinds.get(calls);
        const size = (kind === "skipped" ? 2 : 4) * devicePixelRatio;
        ctx.fillStyle = kind === "accepted" || each.kind === "mark" ? stroke : colour("--panel");
        ctx.beginPath();
        const [x, y] = [plot.valToPos(calls, "x", true), plot.valToPos(value, each.kind === "mark" ? "score" : "y", true)];
        if (each.kind === "mark") ctx.rect(x - size, y - size, 2 * size, 2 * size);
        else ctx.arc(x, y, size, 0, 2 * Math.PI);
        ctx.fill();
        ctx.stroke();
      });
      ctx.restore();
      return false;
    },
  };
}
