# carom in a container:
#
#   docker build -t carom .
#   docker run --rm -v "$PWD:/work" carom run model.json
#
# The first stage builds the Debian package, the second installs nothing but this package.

FROM debian:12 AS build
COPY . /source
RUN apt-get update && /source/carom build package package

FROM debian:12-slim
COPY --from=build /source/build/package/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends gnuplot-nox /tmp/*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["carom"]
