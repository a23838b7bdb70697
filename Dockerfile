# The service and every command of it. No shell starts it, it runs as nobody in particular, and it writes nothing.
# For production, pin the base image by its digest as well.

FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /opt/sshfacts \
    && /opt/sshfacts/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
        --require-hashes --only-binary :all: --requirement requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY adapters adapters
COPY commands commands
COPY schemas schemas
COPY storage storage
RUN /opt/sshfacts/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
        --no-deps --no-build-isolation .

FROM python:3.13-slim-bookworm
COPY --from=build /opt/sshfacts /opt/sshfacts
ENV PATH=/opt/sshfacts/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8722
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8722/readyz', timeout=2)"]
ENTRYPOINT ["sshfacts"]
CMD ["serve", "--site", "/site"]
