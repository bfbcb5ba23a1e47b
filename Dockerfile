# Images and packages without a build on the host:
#
#   docker build --target koord-manager -t registry.example.com/koordinator-sh/koord-manager:v0.1.0 .
#   docker build --target packages --output build/packages .
#   docker build -t koordctl . && docker run --rm -it --name koordctl -p 127.0.0.1:6443:6443 koordctl
#
# Targets: each program of packaging/CMakeLists.txt, `packages` (Debian packages and the tar archive), and koordctl, the
# default: a cluster with simulated nodes.
FROM debian:bookworm AS build
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /src
COPY scripts/install-packages.sh scripts/
RUN scripts/install-packages.sh && scripts/install-packages.sh debhelper patchelf git ca-certificates
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache make deb tarball
RUN packaging/docker-files.sh build/release /out

FROM scratch AS packages
COPY --from=build /out/packages/ /

# The files of the images of `make images`: a program, its libraries, certificates, a user; no shell.
FROM scratch AS plain
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
WORKDIR /

FROM plain AS koord-manager
COPY --from=build /out/koord-manager/ /
USER 65532:65532
ENTRYPOINT ["/koord-manager"]

FROM plain AS koord-scheduler
COPY --from=build /out/koord-scheduler/ /
USER 65532:65532
ENTRYPOINT ["/koord-scheduler"]

FROM plain AS koord-descheduler
COPY --from=build /out/koord-descheduler/ /
USER 65532:65532
ENTRYPOINT ["/koord-descheduler"]

FROM plain AS koordlet
COPY --from=build /out/koordlet/ /
ENTRYPOINT ["/koordlet"]

FROM plain AS koord-device-daemon
COPY --from=build /out/koord-device-daemon/ /
ENTRYPOINT ["/koord-device-daemon"]

FROM plain AS koord-runtime-proxy
COPY --from=build /out/koord-runtime-proxy/ /
ENTRYPOINT ["/koord-runtime-proxy"]

# docker exec koordctl cat /var/lib/koordctl/kubeconfig > kubeconfig
FROM debian:bookworm-slim AS koordctl
COPY --from=build /out/koordinator/ /usr/local/
# A cluster without a host node needs no privileges.
RUN install -d -m 700 -o 65532 -g 65532 /var/lib/koordctl
USER 65532:65532
VOLUME /var/lib/koordctl
EXPOSE 6443
STOPSIGNAL SIGTERM
ENTRYPOINT ["koordctl"]
CMD ["up", "--host-node=off", "--listen=0.0.0.0:6443", "--data-dir=/var/lib/koordctl"]
