// Adds events to a table while they happen: the body says which stream, and the names it has.
"use strict";

const MOST_ROWS = 200;

function cell(row, text, name = "td") {
  const made = document.createElement(name);
  made.textContent = text || "–";
  return row.appendChild(made);
}

function short(id) {
  return id.length > 24 ? `…${id.slice(-12)}` : id;
}

function subject(row, body, told) {
  const made = document.createElement("td");
  if (told.job_id) {
    const link = document.createElement("a");
    link.href = body.dataset.ojsJob.replace("ID", encodeURIComponent(told.job_id));
    link.textContent = told.job_type || told.job_id;
    const id = document.createElement("span");
    id.className = "quiet id";
    id.textContent = short(told.job_id);
    made.append(link, id);
  } else {
    made.textContent = told.subject === told.queue ? "" : short(told.subject || "");
  }
  row.append(made);
}

function tenant(row, body, name) {
  if (!name || !body.dataset.ojsTenant) return cell(row, name);
  const link = document.createElement("a");
  link.href = body.dataset.ojsTenant.replace("ID", encodeURIComponent(name));
  link.textContent = name;
  row.appendChild(document.createElement("td")).append(link);
}

function what(told) {
  if (told.error) return told.error.message || String(told.error.type || told.error);
  if (told.reason) return told.reason;
  const ms = told.duration_ms ?? told.wait_ms;
  if (ms === undefined) return "";
  const word = told.duration_ms === undefined ? "waited" : "ran";
  return `${word} ${ms < 1000 ? `${ms} ms` : `${(ms / 1000).toPrecision(3)} s`}`;
}

function show(body, told) {
  const row = document.createElement("tr");
  cell(row, told.event, "th");
  subject(row, body, told);
  cell(row, told.queue);
  tenant(row, body, told.tenant_id);
  const line = cell(row, what(told) || " ");
  line.className = "line";
  const time = document.createElement("time");
  time.dateTime = time.title = told.timestamp;
  time.dataset.local = "";
  time.textContent = new Date(told.timestamp).toLocaleString([], {
    dateStyle: "medium", timeStyle: "medium", timeZone: document.documentElement.dataset.zone || undefined,
  });
  row.appendChild(document.createElement("td")).append(time);
  row.className = "new";
  body.prepend(row);
  while (body.rows.length > MOST_ROWS) body.lastElementChild.remove();
  const box = body.closest(".scroll");
  box.hidden = false;
  box.parentElement.querySelector(".empty")?.remove();
}

function follow(body) {
  const status = document.getElementById("following");
  const held = []; // events that came during a pause
  const isPaused = () => sessionStorage.getItem("ojs.paused") === "1";
  const source = new EventSource(body.dataset.ojsStream);
  const say = (text) => { status.hidden = false; status.textContent = text; };
  const sayHow = () => say(isPaused() ? `Paused: ${held.length} new events` : "Following live");
  const take = (told) => {
    if (!isPaused()) return show(body, told);
    held.push(told);
    if (held.length > MOST_ROWS) held.shift();
    sayHow();
  };
  document.addEventListener("ojs:pause", () => {
    if (!isPaused()) held.splice(0).forEach((told) => show(body, told));
    sayHow();
  });
  source.onopen = sayHow;
  source.onerror = () => say(source.readyState === EventSource.CLOSED ? "Not live: reload to see what is new" : "Connecting again …");
  for (const name of body.dataset.ojsNames.split(" ")) {
    source.addEventListener(name, (event) => take(JSON.parse(event.data)));
  }
  window.addEventListener("pagehide", () => source.close());
}

document.querySelectorAll("[data-ojs-stream]").forEach(follow);
