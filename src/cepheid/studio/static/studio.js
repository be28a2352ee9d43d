// The studio's page: sends what is written after a short pause, shows what comes back.
"use strict";

const token = new URLSearchParams(location.search).get("token") || "";
const at = (id) => document.getElementById(id);
const PAUSE = 200;
let asked = 0;
let waiting = 0;

async function send(path, body, isText) {
  const headers = { "X-Cepheid-Token": token };
  if (body !== undefined && isText) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body });
  if (!answer.ok) return { error: await answer.text() };
  return answer.json();
}

function fill(select, names, first) {
  select.replaceChildren();
  if (first !== null) select.append(new Option(first, ""));
  for (const name of names) select.append(new Option(name, name));
}

function showSample(sample) {
  if (!sample) return;
  const more = sample.left_out ? ` (the first ${sample.rows.toLocaleString("en")} rows)` : "";
  at("sample").textContent = `${sample.name}: ${sample.rows.toLocaleString("en")} rows, ${sample.columns.length} columns${more}`;
  const names = sample.columns.map((column) => column.name);
  fill(at("keys"), names, null);
  fill(at("order"), names, "as given");
  fill(at("type"), names, "type");
  at("order").value = sample.time;
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const column of sample.columns) {
    const cell = document.createElement("th");
    cell.textContent = column.name;
    const kind = document.createElement("small");
    kind.className = "muted";
    kind.textContent = ` ${column.type}`;
    cell.append(kind);
    head.append(cell);
  }
  const body = table.createTBody();
  for (const values of sample.first) {
    const row = body.insertRow();
    for (const value of values) row.insertCell().textContent = value;
  }
  at("preview").replaceChildren(table);
}

function showError(text) {
  at("error").hidden = !text;
  at("error").textContent = text || "";
  at("text").classList.toggle("wrong", Boolean(text));
  at("text").setAttribute("aria-invalid", String(Boolean(text)));
}

// What the server draws is made and escaped by Cepheid itself; the page's policy forbids scripts in it.
function draw(id, html) {
  at(id).innerHTML = html || "";
}

function show(answer) {
  showError(answer.error);
  if (answer.diagram) draw("diagram", answer.diagram);
  at("diagram").classList.toggle("stale", Boolean(answer.error && !answer.diagram));
  if (answer.error) {
    at("status").textContent = "";
    at("cause").hidden = true;
    at("copies").hidden = true;
    at("copied").hidden = true;
    for (const id of ["matches", "timeline", "why", "funnel"]) draw(id, "");
    return;
  }
  at("status").textContent =
    `${answer.count.toLocaleString("en")} match${answer.count === 1 ? "" : "es"} in ${answer.milliseconds} ms`;
  at("cause").hidden = !answer.cause;
  at("cause").textContent = answer.cause || "";
  draw("matches", answer.matches);
  const others = '<p class="muted">For patterns in the notation, SASE or JSON.</p>';
  draw("timeline", answer.timeline === "" ? '<p class="muted">Choose an order column.</p>' : answer.timeline || others);
  draw("why", answer.why || others);
  draw("funnel", answer.funnel || others);
  showCopies(answer.copies);
}

function showCopies(copies) {
  const place = at("copies");
  place.hidden = false;
  while (place.children.length > 1) place.lastChild.remove();
  at("copied").hidden = true;
  for (const [name, text] of Object.entries(copies)) {
    const button = document.createElement("button");
    button.textContent = name;
    button.addEventListener("click", async () => {
      at("copied").hidden = false;
      at("copied").textContent = text;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = `${name} ✓`;
      } catch {
        getSelection().selectAllChildren(at("copied"));
      }
    });
    place.append(button);
  }
}

async function attempt() {
  const text = at("text").value;
  const number = ++asked;
  if (!text.trim()) {
    showError("");
    return;
  }
  at("status").textContent = "…";
  const body = JSON.stringify({
    text,
    partition_by: [...at("keys").selectedOptions].map((option) => option.value),
    order_by: at("order").value ? [at("order").value] : [],
    type_column: at("type").value,
  });
  try {
    const answer = await send("try", body, true);
    if (number === asked) show(answer); // an older answer must not replace a newer one
  } catch (error) {
    if (number === asked) showError(`The studio does not answer: ${error.message}`);
  }
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(attempt, PAUSE);
}

at("text").addEventListener("input", soon);
for (const id of ["keys", "order", "type"]) at(id).addEventListener("change", attempt);
at("file").addEventListener("change", async () => {
  const [file] = at("file").files;
  if (!file) return;
  const answer = await send(`sample?name=${encodeURIComponent(file.name)}`, file, false);
  showError(answer.error);
  if (!answer.error) {
    showSample(answer.sample);
    attempt();
  }
});
at("tabs").addEventListener("click", (event) => {
  const chosen = event.target.closest("button");
  if (!chosen) return;
  for (const button of at("tabs").children) {
    const isChosen = button === chosen;
    button.setAttribute("aria-selected", String(isChosen));
    at(button.dataset.panel).hidden = !isChosen;
  }
});
send("state").then((answer) => {
  showSample(answer.sample);
  if (answer.error) showError(answer.error);
});
