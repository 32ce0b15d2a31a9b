// Sends forms and files with the session's token, and follows long work. Everything else is plain HTML.
(() => {
  "use strict";
  const token = document.querySelector("meta[name=reissue-token]").content;
  const problem = document.getElementById("problem");

  const complain = (text) => {
    problem.textContent = text;
    problem.hidden = false;
    problem.focus();
    problem.scrollIntoView({ block: "nearest" });
  };

  const ask = async (address, body, headers) => {
    problem.hidden = true;
    let answer;
    try {
      answer = await fetch(address, { method: "POST", body, headers: { ...headers, "x-reissue-token": token } });
      const told = await answer.json();
      if (answer.ok) { location.assign(told.to); return true; }
      complain(told.error);
    } catch (error) {
      complain(answer ? "The page refused this. Load it again; if that does not help, open it by a new link of `reissue serve`."
        : "The server of this page does not answer. Is `reissue serve` still running?");
    }
    return false;
  };

  for (const form of document.querySelectorAll("form[data-send]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const fields = new FormData(form);
      if (event.submitter && event.submitter.name) fields.set(event.submitter.name, event.submitter.value);
      const buttons = [...form.querySelectorAll("button:not([disabled])")];
      for (const button of buttons) button.disabled = true;
      const done = await ask(form.action, JSON.stringify(Object.fromEntries(fields)), { "content-type": "application/json" });
      if (!done) for (const button of buttons) button.disabled = false;
    });
  }

  for (const job of document.querySelectorAll("[data-job]")) {
    const bar = job.querySelector("progress");
    const look = async () => {
      try {
        const told = await (await fetch(job.dataset.job)).json();
        if (!told.running) { location.reload(); return; }
        job.querySelector("[data-stage]").textContent = told.stage;
        if (told.share > 0) bar.value = told.share;
      } catch { complain("The server of this page does not answer. Is `reissue serve` still running? Nothing is lost."); return; }
      setTimeout(look, 400);
    };
    setTimeout(look, 250);
  }
})();
