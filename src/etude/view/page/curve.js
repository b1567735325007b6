// Curves over the calls of the target, so that runs of different policies compare.

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

/** `series`: `{name, kind, colour, points: [[calls, value, mark]]}`; a kind is `line` or `spend`, a mark `accepted`, `rejected` or `skipped`. */
export function Curves({ series, label, spend }) {
  const place = useRef(null);
  const chart = useRef(null);
  const shape = JSON.stringify(series.map((one) => [one.name, one.kind]));
  const data = joined(series);
  useEffect(() => {
    const made = () => {
      chart.current?.destroy();
      chart.current = new uPlot(options(series, place.current.clientWidth, spend), data, place.current);
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

function options(series, width, spend) {
  const soft = colour("--soft");
  const line = colour("--line");
  const font = `${0.75 * rem()}px system-ui, sans-serif`;
  const axis = { stroke: soft, font, size: 3 * rem(), labelSize: 1.25 * rem(), labelFont: font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const most = Math.max(1, ...series.filter((one) => one.kind === "spend").flatMap((one) => one.points.map((point) => point[1])));
  return {
    width,
    height: 16 * rem(),
    legend: { live: false },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: [0, 1.02] }, spend: { range: [0, most * 1.1] } },
    axes: [
      { ...axis, size: 2 * rem(), label: "calls of the target", values: (_, ticks) => ticks.map(short) },
      { ...axis, label: "score" },
      ...(spend ? [{ ...axis, scale: "spend", side: 1, grid: { show: false }, label: spend, values: (_, ticks) => ticks.map(short) }] : []),
    ],
    series: [{ label: "calls" }, ...series.map(one)],
  };
}

function one(each, number) {
  if (each.kind === "spend")
    return { label: each.name, scale: "spend", stroke: colour("--soft"), dash: [3, 3], width: 1, spanGaps: true, points: { show: false } };
  const stroke = colour(each.colour ?? COLOURS[number % COLOURS.length]);
  return { label: each.name, stroke, width: 2, spanGaps: true, points: marked(each, stroke) };
}

/** Points by what was decided: full for accepted, hollow for rejected, small for skipped. */
function marked(each, stroke) {
  const kinds = new Map(each.points.map((point) => [point[0], point[2]]));
  return {
    show: (plot, index) => {
      const { ctx } = plot;
      ctx.save();
      ctx.strokeStyle = stroke;
      ctx.lineWidth = 2 * devicePixelRatio;
      plot.data[0].forEach((calls, at) => {
        const value = plot.data[index][at];
        if (value === null || value === undefined) return;
        const kind = kinds.get(calls);
        const size = (kind === "skipped" ? 2 : 4) * devicePixelRatio;
        ctx.fillStyle = kind === "accepted" ? stroke : colour("--panel");
        ctx.beginPath();
        ctx.arc(plot.valToPos(calls, "x", true), plot.valToPos(value, "y", true), size, 0, 2 * Math.PI);
        ctx.fill();
        ctx.stroke();
      });
      ctx.restore();
      return false;
    },
  };
}
