// What the control panel's pages do in the browser. Each of them works without it, too.
"use strict";

// --- the viewer's zone, so that the server shows instants by the viewer's clocks (project/kit/zones.py) --------

function rememberZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  if (zone) document.cookie = `tideline_zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

// --- a page that refreshes itself while what it shows goes on ----------------------------------------------------

function refreshWhileItRuns(holder) {
  const seconds = () => Number(holder.querySelector("[data-refresh]")?.dataset.refresh || 0);
  let misses = 0;

  async function refresh() {
    if (document.hidden) return again();
    try {
      const answer = await fetch(`${location.pathname}?fragment`, { redirect: "error", credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status);
      replace(holder, await answer.text());
      misses = 0;
    } catch {
      misses += 1; // logged out, or the server is away: ask less and less often
    }
    holder.classList.toggle("stale", misses > 1);
    again();
  }

  function again() {
    if (seconds()) setTimeout(refresh, seconds() * 1000 * Math.min(2 ** misses, 30));
  }
  again();
}

// Takes over what the reader has opened, scrolled or typed, and leaves a selection alone.
function replace(holder, html) {
  if (holder.contains(getSelection().anchorNode) && !getSelection().isCollapsed) return;
  const said = holder.querySelector("[data-announce]")?.textContent.trim();
  const restore = [keptFolds(holder), keptFields(holder), keptFocus(holder)];
  holder.innerHTML = html;
  for (const again of restore) again();
  const says = holder.querySelector("[data-announce]")?.textContent.trim();
  if (says !== said) announce(says ?? "");
}

// Each of these notes how something stands now, and returns what puts it back after the page was replaced.
function keptFolds(holder) {
  const folds = () => holder.querySelectorAll("[data-keep]");
  const texts = (fold) => [...fold.querySelectorAll("pre")];
  const isAtEnd = (text) => text.scrollTop > 0 && text.scrollHeight - text.scrollTop - text.clientHeight < 4;
  const kept = new Map();
  for (const fold of folds()) {
    kept.set(fold.dataset.keep, [fold.open, texts(fold).map((text) => (isAtEnd(text) ? Infinity : text.scrollTop))]);
  }
  return () => {
    for (const fold of folds()) {
      const [open, tops] = kept.get(fold.dataset.keep) ?? [fold.open, []];
      fold.open = open;
      texts(fold).forEach((text, number) => { text.scrollTop = Math.min(tops[number] ?? 0, text.scrollHeight); });
    }
  };
}

function keptFields(holder) {
  const fields = () => holder.querySelectorAll("input:not([type=hidden])");
  const typed = new Map([...fields()].map((field) => [field.id, field.value]));
  return () => {
    for (const field of fields()) field.value = typed.get(field.id) ?? field.value;
  };
}

function keptFocus(holder) {
  const focused = holder.contains(document.activeElement) && document.activeElement;
  const fold = focused && focused.matches("summary") && focused.parentElement.dataset.keep;
  const [address, id] = focused ? [focused.getAttribute("href"), focused.id] : [];
  const [start, end] = id && focused.matches("input") ? [focused.selectionStart, focused.selectionEnd] : [];
  return () => {
    const again =
      (fold && holder.querySelector(`[data-keep="${CSS.escape(fold)}"] > summary`)) ||
      (address && holder.querySelector(`[href="${CSS.escape(address)}"]`)) ||
      (id && document.getElementById(id));
    again?.focus({ preventScroll: true });
    if (start !== undefined) again?.setSelectionRange(start, end);
  };
}

// A screen reader hears of a new state, and of nothing else that is drawn again.
function announce(text) {
  let speaker = document.getElementById("speaker");
  if (!speaker) {
    speaker = Object.assign(document.createElement("p"), { id: "speaker", className: "hidden-text" });
    speaker.setAttribute("aria-live", "polite");
    document.body.append(speaker);
  }
  speaker.textContent = text;
}

// --- the form of a schedule: only the fields of its trigger, what its job takes, what it would fire -------------

const TRIGGER_ROWS = { cron: ["cron"], interval: ["interval_seconds", "anchor_at"], once: ["once_at"] };

function showTriggerFields(form) {
  for (const [trigger, names] of Object.entries(TRIGGER_ROWS)) {
    for (const name of names) {
      form.querySelector(`.form-row.field-${name}`)?.classList.toggle("hidden", form.elements.trigger.value !== trigger);
    }
  }
}

function showJobSheet(form) {
  for (const sheet of document.querySelectorAll("#job-sheets [data-job]")) {
    sheet.hidden = sheet.dataset.job !== form.elements.job.value;
  }
}

function previewTrigger(form, preview) {
  const names = [
    ...["trigger", "cron", "interval_seconds", "anchor_at", "once_at", "timezone", "starts_at", "ends_at"],
    ...["calendar", "on_excluded", "jitter_seconds", "quiet_from", "quiet_until"],
  ];
  const beside = ["beside", preview.dataset.beside ?? ""];
  const typed = () =>
    new URLSearchParams([...names.map((name) => [name, form.elements[name].value]), beside]).toString();
  let shown = form.classList.contains("adding") ? "" : typed();
  let waiting;

  async function show() {
    const asked = typed();
    if (asked === shown) return;
    const answer = await fetch(`${preview.dataset.url}?${asked}`, { credentials: "same-origin" });
    if (!answer.ok || asked !== typed()) return;
    shown = asked;
    preview.querySelector("div").innerHTML = await answer.text();
    preview.hidden = false;
  }

  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 300);
  });
}

function scheduleForm(form) {
  document.querySelector(".form-row.field-timezone")?.after(document.getElementById("preview"));
  document.querySelector(".form-row.field-params")?.after(document.getElementById("job-sheets"));
  const redraw = () => {
    showTriggerFields(form);
    showJobSheet(form);
  };
  form.addEventListener("change", redraw);
  redraw();
  previewTrigger(form, document.getElementById("preview"));
}

// --- the form of a quota: only the fields of its kind and of its reset --------------------------------------------

const RESET_ROWS = {
  reset_time: ["hour", "day", "week", "month"],
  reset_weekday: ["week"],
  reset_day: ["month"],
  reset_cron: ["cron"],
};

function quotaForm(form) {
  const redraw = () => {
    const kind = form.elements.kind?.value;
    for (const fieldset of form.querySelectorAll("fieldset[class*=kind-]")) {
      fieldset.classList.toggle("hidden", Boolean(kind) && !fieldset.classList.contains(`kind-${kind}`));
    }
    for (const [name, presets] of Object.entries(RESET_ROWS)) {
      const preset = form.elements.reset_preset?.value;
      form.querySelector(`.form-row.field-${name}`)?.classList.toggle("hidden", !presets.includes(preset));
    }
  };
  form.addEventListener("change", redraw);
  redraw();
}

// --- a wide picture in a narrow window: now is in its middle -------------------------------------------------------

function scrollToNow(box) {
  const now = box.querySelector(".now").getBoundingClientRect();
  const seen = box.getBoundingClientRect();
  box.scrollLeft += now.left - seen.left - (seen.width + box.firstElementChild.offsetWidth) / 2;
}

// --- pictures whose links the arrow keys lead along: a keyboard comes to one of them only ------------------------

function leadAlong(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const row = event.target.closest?.("[data-arrows]");
  if (!step || !row) return;
  const links = [...row.querySelectorAll("a")];
  const next = links[links.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  event.target.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

// --- start --------------------------------------------------------------------------------------------------------

rememberZone();
document.addEventListener("keydown", leadAlong);
const fragment = document.getElementById("fragment");
if (fragment) refreshWhileItRuns(fragment);
const editing = document.querySelector("#schedule_form");
if (editing?.elements.trigger) scheduleForm(editing);
const editingQuota = document.querySelector("#quota_form");
if (editingQuota) quotaForm(editingQuota);
for (const box of document.querySelectorAll("[data-scroll-to-now]")) scrollToNow(box);
for (const field of document.querySelectorAll("[data-submit]")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}
