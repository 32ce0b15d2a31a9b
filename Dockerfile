# docker build -t reissue . && docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" reissue demo
FROM python:3.13-slim

WORKDIR /app
COPY pyproject.toml requirements-demo.lock README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --require-hashes -r requirements-demo.lock && pip install --no-cache-dir --no-deps .

# Kernels are compiled now, for whoever runs it; the tables are mounted at /data.
ENV NUMBA_CACHE_DIR=/var/cache/reissue
RUN mkdir -p $NUMBA_CACHE_DIR && reissue warm-up && chmod -R a+rwX $NUMBA_CACHE_DIR
WORKDIR /data
ENTRYPOINT ["reissue"]
