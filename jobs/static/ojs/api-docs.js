// Starts the viewer of the API page. Requests sent from it carry the CSRF token of the login.
(() => {
  const place = document.getElementById("ojs-api-docs");
  const token = () => (document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/) || [])[1];
  SwaggerUIBundle({
    domNode: place,
    url: place.dataset.ojsUrl,
    docExpansion: "none",
    filter: true,
    requestInterceptor: (request) => {
      if (token()) request.headers["X-CSRFToken"] = token();
      return request;
    },
  });
})();
