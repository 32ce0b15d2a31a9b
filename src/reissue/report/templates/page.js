(() => {
  "use strict";
  const data = document.getElementById("charts");
  if (!data || !window.reissueEmbed) return;
  // Styles are the page's own: what Vega would add is more than a strict policy allows.
  const options = { actions: false, renderer: "svg", ast: true, loader: { target: "_self" }, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const drawn = Object.entries(JSON.parse(data.textContent)).map(([id, spec]) => {
    const place = document.getElementById("chart-" + id);
    spec.config.legend.columns = Math.max(1, Math.floor(place.clientWidth / 200));
    return window.reissueEmbed("#chart-" + id, spec, options).catch((error) => {
      place.textContent = "This chart could not be drawn; its numbers are in the table below. " + error.message;
    });
  });
  Promise.all(drawn).then(() => { document.documentElement.dataset.drawn = "yes"; });
  // Vega announces charts as graphics documents with every mark; the page's own label and table say it better.
  const open = () => { if (location.hash.length > 1) { const d = document.getElementById(location.hash.slice(1)); for (let e = d; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true; } };
  window.addEventListener("hashchange", open);
  open();
})();
