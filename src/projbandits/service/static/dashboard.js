"use strict";
// Everything that users sent goes through textContent, so none of it is ever markup.
const $ = id => document.getElementById(id);
const whole = n => n == null ? "–" : n.toLocaleString("en-US");
const short = n => n == null ? "–" : Number(n.toPrecision(3)).toLocaleString("en-US",
  {maximumSignificantDigits: 3});
const part = n => n == null ? "–" : `${(100 * n).toFixed(0)} %`;
const span = s => s < 120 ? `${s.toFixed(0)} s` : s < 7200 ? `${(s / 60).toFixed(0)} min`
  : s < 172800 ? `${(s / 3600).toFixed(0)} h` : `${(s / 86400).toFixed(0)} d`;
const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));
let followed = null, shown = null, audited = null, listed = "", got = null, pause = 3000;

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

// Return the first of 1, 2, 5, 10, 20, ... (or 0.5, 0.2, ...) that is at least so much.
function roundStep(least) {
  const size = 10 ** Math.floor(Math.log10(least));
  return size * [1, 2, 5, 10].find(times => times * size >= least * (1 - 1e-9));
}

function lines(place, label, data, series, names) {
  const W = Math.max(place.clientWidth, 260), H = 200, L = 52, B = 24, T = 8;
  const all = series.flat().filter(v => v != null);
  let low = Math.min(0, ...all), high = Math.max(0, ...all);
  if (high === low) high = low + 1;
  const step = roundStep((high - low) / 4);
  low = step * Math.floor(low / step);
  high = step * Math.ceil(high / step);
  const n = Math.max(data.bins.length - 1, 1);
  const x = i => L + (W - L - 8) * i / n, y = v => T + (H - T - B) * (high - v) / (high - low);
  const svg = draw("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label});
  for (let k = Math.round(low / step); k <= Math.round(high / step); k++) {
    const v = k * step;
    svg.append(draw("line", {x1: L, x2: W - 8, y1: y(v), y2: y(v), class: "axis"}));
    svg.append(draw("text", {x: L - 6, y: y(v) + 4, "text-anchor": "end"}, short(v)));
  }
  const length = data.width * data.bins.length, moment = at => when(at, length < 600);
  svg.append(draw("text", {x: L, y: H - 6}, data.start == null ? "" : moment(data.start)));
  const end = data.start == null ? "" : moment(data.start + length);
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

function when(seconds, short = false) {
  return new Date(1000 * seconds).toLocaleString([], {month: "short", day: "numeric",
    hour: "2-digit", minute: "2-digit", ...(short ? {second: "2-digit"} : {})});
}

function believed(place, coefficients) {
  const W = Math.max(place.clientWidth, 260), L = Math.min(230, W / 2.5), R = 8, row = 22, H = row * coefficients.length + 24;
  const ends = coefficients.flatMap(c => [c.low ?? c.estimate, c.high ?? c.estimate, 0]);
  let low = Math.min(...ends), high = Math.max(...ends);
  if (high === low) { low -= 1; high += 1; }
  const x = v => L + (W - L - R) * (v - low) / (high - low);
  const said = "Coefficients with 95 % intervals, kept and protected";
  const svg = draw("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": said});
  svg.append(draw("line", {x1: x(0), x2: x(0), y1: 0, y2: H - 20, class: "axis"}));
  coefficients.forEach((c, i) => {
    const y = row * i + row / 2, kind = c.protected ? "two" : "one";
    const room = Math.floor(L / 8);
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
  rows($("coefficients"), ["feature", "estimate", "from", "to", ""], coefficients.map(c =>
    [c.feature, short(c.estimate), short(c.low), short(c.high), c.protected ? "protected" : "kept"]));
}

function chosen(place, data) {
  const table = make("table");
  const total = Math.max(data.decisions, 1);
  rows(table, ["item", "chosen", "share", "by exploring"], data.chosen.map(([name, many]) =>
    [name, whole(many), part(many / total), part(data.exploring[name])]));
  const most = data.distinct > data.chosen.length
    ? `The ${data.chosen.length} chosen most often, of ${whole(data.distinct)}. ` : "";
  const note = data.looked ? `${most}By exploring: of the last decisions (${whole(data.looked)}), ` +
    `the share that was not the best guess; ${part(data.explored)} in all.` : most;
  const wide = make("div", null, {class: "wide"});
  wide.append(table);
  place.replaceChildren(wide, make("p", note, {class: "note"}));
}

function became(state, outcome) {
  if (outcome != null) return state === "told" ? short(outcome) : `${short(outcome)} (${state})`;
  return ["pending", "expired", "withdrawn"].includes(state) ? state : `withdrawn: ${state}`;
}

// Rows that are still there stay in place: one that is replaced while it is clicked gets no click.
function recent(table, name, decisions) {
  if (!table.tHead) {
    const top = table.createTHead().insertRow();
    for (const head of ["item", "outcome", "probability", "estimate", "asked", "decision"]) {
      top.append(make("th", head, {scope: "col"}));
    }
    table.createTBody();
  }
  const body = table.tBodies[0], wanted = new Set(decisions.map(each => each.id));
  for (const line of [...body.rows]) if (!wanted.has(line.dataset.id)) line.remove();
  const there = new Map([...body.rows].map(line => [line.dataset.id, line]));
  [...decisions].reverse().forEach(each => {
    let line = there.get(each.id);
    if (!line) {
      line = make("tr", null, {"data-id": each.id});
      const button = make("button", each.label, {"data-decision": each.id, title: "Why?"});
      button.onclick = () => explain(name, each.id);
      const first = make("td");
      first.append(button);
      line.append(first, make("td"), make("td", short(each.propensity)),
        make("td", short(each.estimate)), make("td", when(each.asked, true)), make("td", each.id));
      body.prepend(line);
    }
    line.cells[1].textContent = became(each.state, each.outcome);
  });
}

function counted(data) {
  const age = data.oldest + (performance.now() - got) / 1000;
  const counts = [["decisions", whole(data.decisions)], ["outcomes", whole(data.outcomes)],
    ["pending", whole(data.pending)], ["oldest pending", data.pending ? span(age) : "–"],
    ["expired", whole(data.expired)], ["withdrawn", whole(data.withdrawn)]];
  $("counts").replaceChildren(...counts.map(([name, value]) => {
    const box = make("div");
    box.append(make("dt", name), make("dd", value, {id: `n-${name.replace(" ", "-")}`}));
    return box;
  }));
}

let last = null;
function show(data) {
  last = data;
  got = performance.now();
  $("page").hidden = false;
  $("name").textContent = data.name;
  $("about").textContent = `${data.strategy}, ${whole(data.items)} items in its catalogue`;
  counted(data);
  drawn(data);
  $("revised").textContent = data.revised ? ` Of the outcomes, ${whole(data.revised)} were amended ` +
    "or withdrawn later; they are shown here as they were first reported." : "";
  chosen($("items"), data);
  $("no-decisions").hidden = data.decisions > 0;
  $("recent").hidden = !data.decisions;
  recent($("recent"), data.name, data.recent);
  if (audited === data.name) return;
  if (data.outcomes && data.decisions <= 20000) audit(data.name);
  else $("audit").replaceChildren(make("p", data.outcomes ? "An audit of so many decisions takes a " +
    "while: start it when you need it." : "Nothing can be told before outcomes are known.",
    {class: "note"}));
}

function drawn(data) {
  const column = k => data.bins.map(bin => bin[k]);
  lines($("time"), "Decisions and outcomes over time", data, [column(0), column(1)],
    [`decisions per ${span(data.width)}`, "outcomes"]);
  lines($("worth"), "Estimated projection reward and observed outcomes", data,
    [column(3), column(4)], ["estimated projection reward, mean", "observed, mean"]);
  believed($("belief"), data.coefficients);
}

async function ask(path) {
  const answer = await fetch(path);
  if (answer.status === 401) location.assign("/sign-in");
  return answer.json();
}

const text = value => typeof value === "string" ? value : JSON.stringify(value);

async function explain(name, id) {
  const path = `/v1/deciders/${encodeURIComponent(name)}/decisions/${encodeURIComponent(id)}`;
  const said = await ask(path), found = said.explanation;
  $("why-title").textContent = found ? `Why ${said.label ?? `arm ${said.index}`}?` : `Decision ${id}`;
  $("why-reason").textContent = found?.reason ?? said.detail;
  const outcome = said.outcome != null ? became(said.assumed ?? "told", said.outcome)
    : became(said.withdrawn ?? "pending");
  const facts = found ? [["decision", id], ["asked", when(said.asked, true)], ["outcome", outcome],
    ["context", said.context], ["meta", said.meta]].filter(([, value]) => value != null) : [];
  $("why-facts").replaceChildren(...facts.flatMap(([key, value]) =>
    [make("dt", key), make("dd", text(value))]));
  const first = ["arm", "chosen", "probability", "counted", "ignored"];
  const arms = (found?.arms ?? []).sort((a, b) => b.chosen - a.chosen ||
    b.probability - a.probability || b.counted - a.counted);
  const head = [...first.filter(key => key in (arms[0] ?? {})),
    ...Object.keys(arms[0] ?? {}).filter(key => !first.includes(key))];
  rows($("why-arms"), head, arms.slice(0, 100).map(arm => head.map(key => {
    const value = arm[key];
    return typeof value === "number" && key !== "arm" ? short(value) : value === true ? "yes"
      : value === false ? "" : String(value ?? "–");
  })));
  $("why-note").textContent = found ? "Counted is the estimated projection reward of an item, by " +
    "which it is judged; ignored is what the protected part adds to its estimated outcome." +
    (arms.length > 100 ? ` The first 100 of ${whole(arms.length)} items are shown.` : "") : "";
  $("why").showModal();
  $("why").scrollTop = 0;
}

const questions = {
  scores: "Would other protected parts change the scores?",
  choices: "Would they change what is chosen?",
  leak: "Has their effect moved into the kept part?",
  exposure: "Do choices follow them all the same?",
};

async function audit(name) {
  audited = name;
  const place = $("audit");
  place.replaceChildren(make("p", "auditing …"));
  const said = await ask(`/v1/deciders/${encodeURIComponent(name)}/audit`);
  if (shown !== name) return;
  const kind = said.influence ?? "";
  const parts = [make("p", said.verdict ?? said.detail, {class: `verdict ${kind}`})];
  const answers = make("dl", null, {class: "answers"});
  for (const [key, question] of Object.entries(questions)) {
    if (said[key]) answers.append(make("dt", question), make("dd", said[key].verdict));
  }
  parts.push(answers);
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
  $("recent").replaceChildren();
  const path = `/v1/deciders/${encodeURIComponent(name)}`;
  $("report").href = `${path}/audit.html`;
  $("log").href = `${path}/log.parquet`;
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  for (const button of $("deciders").children) {
    if (button.textContent === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  follow(`${path}/numbers`);
}

// Show the numbers of a decider, and look each second for new ones, until another is chosen.
async function follow(path) {
  const mine = followed = {position: ""};
  while (followed === mine) {
    try {
      const response = await fetch(`${path}?position=${mine.position}`);
      if (!response.ok) throw new Error(response.status);
      const data = response.status === 204 ? null : await response.json();
      if (followed !== mine) return;
      $("live").textContent = "live";
      if (data) {
        mine.position = data.position;
        show(data);
      }
      await wait(1000);
    } catch {
      if (followed !== mine) return;
      $("live").textContent = "connecting";
      await wait(pause);
      await list().catch(() => null);
    }
  }
}

async function list() {
  const {deciders} = await ask("/v1/deciders");
  if (!deciders) return;
  const names = deciders.filter(each => !each.waiting).map(each => each.name);
  const waiting = deciders.filter(each => each.waiting).map(each => each.name);
  $("empty").hidden = deciders.length > 0;
  $("waiting").hidden = !waiting.length;
  $("waiting").textContent = `Waiting for a catalogue: ${waiting.join(", ")}.`;
  if (!names.length) $("live").textContent = "nothing to show";
  if (listed === JSON.stringify(names)) return;
  listed = JSON.stringify(names);
  $("deciders").replaceChildren(...names.map(name => {
    const button = make("button", name, name === shown ? {"aria-current": "true"} : {});
    button.onclick = () => choose(name);
    return button;
  }));
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (shown == null && names.length) choose(names.includes(wanted) ? wanted : names[0]);
}

let resized = null;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (last) drawn(last); }, 100);
});
$("again").onclick = () => audit(shown);
setInterval(() => { if (last) counted(last); }, 1000);
setInterval(() => { if (!document.hidden) list().catch(() => null); }, 20000);
list();
