"use strict";
// Everything that users sent goes through textContent, so none of it is ever markup.
const $ = id => document.getElementById(id);
const whole = n => n == null ? "–" : n.toLocaleString("en-US");
const short = n => n == null ? "–" : Number(n.toPrecision(3)).toLocaleString("en-US",
  {maximumSignificantDigits: 3});
const part = n => n == null ? "–" : `${(100 * n).toFixed(0)} %`;
const span = s => s < 120 ? `${s.toFixed(0)} s` : s < 7200 ? `${(s / 60).toFixed(0)} min`
  : s < 172800 ? `${(s / 3600).toFixed(0)} h` : `${(s / 86400).toFixed(0)} d`;
let stream = null, shown = null, audited = null;

function make(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text != null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function draw(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text != null) made.textContent = text;
  return made;
}

function rows(table, head, body) {
  const top = make("tr");
  for (const each of head) top.append(make("th", each, {scope: "col"}));
  const lines = body.map(cells => {
    const line = make("tr");
    for (const cell of cells) {
      const td = make("td");
      td.append(cell);
      line.append(td);
    }
    return line;
  });
  table.replaceChildren(top, ...lines);
}

function lines(place, label, data, series, names) {
  const W = Math.max(place.clientWidth, 260), H = 200, L = 52, B = 24, T = 8;
  const all = series.flat().filter(v => v != null);
  let low = Math.min(0, ...all), high = Math.max(0, ...all);
  if (high === low) high = low + 1;
  const n = Math.max(data.bins.length - 1, 1);
  const x = i => L + (W - L - 8) * i / n, y = v => T + (H - T - B) * (high - v) / (high - low);
  const svg = draw("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label});
  for (const v of [low, (low + high) / 2, high]) {
    svg.append(draw("line", {x1: L, x2: W - 8, y1: y(v), y2: y(v), class: "axis"}));
    svg.append(draw("text", {x: L - 6, y: y(v) + 4, "text-anchor": "end"}, short(v)));
  }
  svg.append(draw("text", {x: L, y: H - 6}, data.start == null ? "" : when(data.start)));
  const end = data.start == null ? "" : when(data.start + data.width * data.bins.length);
  svg.append(draw("text", {x: W - 8, y: H - 6, "text-anchor": "end"}, end));
  series.forEach((values, k) => {
    const kind = k ? "two" : "one", known = i => values[i] != null;
    let path = "";
    values.forEach((v, i) => {
      if (v == null) return;
      const cx = x(i).toFixed(1), cy = y(v).toFixed(1);
      path += `${known(i - 1) ? "L" : "M"}${cx},${cy}`;
      if (!known(i - 1) && !known(i + 1)) {
        svg.append(draw("circle", {cx, cy, r: 3, class: `fill-${kind}`}));
      }
    });
    svg.append(draw("path", {d: path, class: `line ${kind}`}));
  });
  const key = make("div", null, {class: "key"});
  names.forEach((name, k) => key.append(make("span", name, k ? {class: "second"} : {})));
  place.replaceChildren(svg, key);
}

function when(seconds) {
  return new Date(1000 * seconds).toLocaleString([], {month: "short", day: "numeric",
    hour: "2-digit", minute: "2-digit"});
}

function believed(place, coefficients) {
  const W = Math.max(place.clientWidth, 260), L = Math.min(190, W / 2.5), R = 8, row = 22, H = row * coefficients.length + 24;
  const ends = coefficients.flatMap(c => [c.low ?? c.estimate, c.high ?? c.estimate, 0]);
  let low = Math.min(...ends), high = Math.max(...ends);
  if (high === low) { low -= 1; high += 1; }
  const x = v => L + (W - L - R) * (v - low) / (high - low);
  const said = "Coefficients with 95 % intervals, kept and protected";
  const svg = draw("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": said});
  svg.append(draw("line", {x1: x(0), x2: x(0), y1: 0, y2: H - 20, class: "axis"}));
  coefficients.forEach((c, i) => {
    const y = row * i + row / 2, kind = c.protected ? "two" : "one";
    const room = Math.floor(L / 7.9);
    const name = c.feature.length > room ? c.feature.slice(0, room - 1) + "…" : c.feature;
    svg.append(draw("text", {x: L - 8, y: y + 4, "text-anchor": "end"}, name));
    if (c.low != null) svg.append(draw("line", {x1: x(c.low), x2: x(c.high), y1: y, y2: y,
      class: kind, "stroke-width": 2}));
    const dot = draw("circle", {cx: x(c.estimate), cy: y, r: 4, class: `fill-${kind}`});
    dot.append(draw("title", {}, `${c.feature}: ${short(c.estimate)} (${short(c.low)} to ${
      short(c.high)})`));
    svg.append(dot);
  });
  svg.append(draw("text", {x: L, y: H - 4}, short(low)));
  svg.append(draw("text", {x: W - R, y: H - 4, "text-anchor": "end"}, short(high)));
  const key = make("div", null, {class: "key"});
  key.append(make("span", "kept"), make("span", "protected", {class: "second"}));
  place.replaceChildren(svg, key);
}

function chosen(place, data) {
  const table = make("table");
  const total = Math.max(data.decisions, 1);
  rows(table, ["item", "chosen", "share", "by exploring"], data.chosen.map(([name, many]) =>
    [name, whole(many), part(many / total), part(data.exploring[name])]));
  const note = `By exploring: of the last ${whole(data.looked)} decisions, the share that was not ` +
    `the best guess; ${part(data.explored)} of all of them.`;
  const wide = make("div", null, {class: "wide"});
  wide.append(table);
  place.replaceChildren(wide, make("p", note, {class: "note"}));
}

function show(data) {
  $("page").hidden = false;
  $("name").textContent = data.name;
  $("about").textContent = `${data.strategy}, ${whole(data.items)} items in its catalogue`;
  const counts = [["decisions", whole(data.decisions)], ["outcomes", whole(data.outcomes)],
    ["pending", whole(data.pending)], ["oldest pending", data.pending ? span(data.oldest) : "–"],
    ["expired", whole(data.expired)], ["withdrawn", whole(data.withdrawn)]];
  $("counts").replaceChildren(...counts.map(([name, value]) => {
    const box = make("div");
    box.append(make("dt", name), make("dd", value, {id: `n-${name.replace(" ", "-")}`}));
    return box;
  }));
  const column = k => data.bins.map(bin => bin[k]);
  lines($("time"), "Decisions and outcomes over time", data, [column(0), column(1)],
    [`decisions per ${span(data.width)}`, "outcomes"]);
  lines($("worth"), "Estimated projection reward and observed outcomes", data,
    [column(3), column(4)], ["estimated projection reward, mean", "observed, mean"]);
  believed($("belief"), data.coefficients);
  chosen($("items"), data);
  const focused = document.activeElement?.dataset?.decision;
  rows($("recent"), ["decision", "item", "probability", "estimate", "asked", "outcome"],
    data.recent.map(each => {
      const button = make("button", each.id.slice(0, 24), {"data-decision": each.id});
      button.onclick = () => explain(data.name, each.id);
      return [button, each.label, short(each.propensity), short(each.estimate), when(each.asked),
        each.pending ? "pending" : "known"];
    }));
  if (focused) document.querySelector(`[data-decision="${CSS.escape(focused)}"]`)?.focus();
  if (audited !== data.name && data.outcomes && data.decisions <= 20000) audit(data.name);
}

async function ask(path) {
  const answer = await fetch(path);
  if (answer.status === 401) location.assign("/sign-in");
  return answer.json();
}

async function explain(name, id) {
  const path = `/v1/deciders/${encodeURIComponent(name)}/decisions/${encodeURIComponent(id)}`;
  const said = await ask(path);
  $("why-title").textContent = `Decision ${id}`;
  $("why-reason").textContent = said.explanation?.reason ?? said.detail;
  const arms = (said.explanation?.arms ?? []).slice(0, 100);
  const head = Object.keys(arms[0] ?? {});
  rows($("why-arms"), head, arms.map(arm => head.map(key => {
    const value = arm[key];
    return typeof value === "number" ? short(value) : value === true ? "yes"
      : value === false ? "" : String(value ?? "–");
  })));
  $("why").showModal();
}

async function audit(name) {
  audited = name;
  const place = $("audit");
  place.replaceChildren(make("p", "auditing …"));
  const said = await ask(`/v1/deciders/${encodeURIComponent(name)}/audit`);
  if (shown !== name) return;
  const kind = said.role === false ? "free" : said.role ? "role" : "";
  const parts = [make("p", said.verdict ?? said.detail, {class: `verdict ${kind}`})];
  for (const question of ["scores", "choices", "leak", "exposure"]) {
    if (said[question]) parts.push(make("p", `${question}: ${said[question].verdict}`));
  }
  const groups = said.exposure?.table ?? [];
  if (groups.length) {
    const table = make("table");
    const head = ["attribute", "group", "offered", "best guess", "explored", "chosen"];
    rows(table, head, groups.map(group => head.map(key =>
      typeof group[key] === "number" ? part(group[key]) : String(group[key] ?? "–"))));
    const wide = make("div", null, {class: "wide"});
    wide.append(table);
    parts.push(wide);
  }
  for (const warning of said.warnings ?? []) parts.push(make("p", warning, {class: "note"}));
  place.replaceChildren(...parts);
}

function choose(name) {
  shown = name;
  audited = null;
  $("audit").replaceChildren();
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  for (const button of $("deciders").children) {
    if (button.textContent === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  stream?.close();
  stream = new EventSource(`/v1/deciders/${encodeURIComponent(name)}/stream`);
  stream.onopen = () => { $("live").textContent = "live"; };
  stream.onerror = () => { $("live").textContent = "connecting"; };
  stream.onmessage = message => show(JSON.parse(message.data));
}

async function start() {
  const {deciders} = await ask("/v1/deciders");
  const names = (deciders ?? []).filter(each => !each.waiting).map(each => each.name);
  $("empty").hidden = names.length > 0;
  $("deciders").replaceChildren(...names.map(name => {
    const button = make("button", name);
    button.onclick = () => choose(name);
    return button;
  }));
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (names.length) choose(names.includes(wanted) ? wanted : names[0]);
  else $("live").textContent = "nothing to show";
}

$("again").onclick = () => audit(shown);
start();
