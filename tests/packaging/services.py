"""The services of the packages below a systemd that systemd-nspawn boots in a root file system."""

import os
import shutil
import subprocess

# Runs in the root, as a service of it. Each line of the log begins with a word that says what was looked at.
SCRIPT = r"""#!/bin/bash
exec > /root/services.log 2>&1
export HOME=/tmp  # for the cache of kubectl
until_active() { for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done; echo "failed: $*"; }
kubeconfig=/var/lib/koordctl/clusters/demo/kubeconfig
for unit in koordctl@demo koordlet koord-scheduler koord-manager koord-descheduler koord-runtime-proxy koord-device-daemon; do
  echo "enabled $unit $(systemctl is-enabled $unit)"
done
systemctl start koordlet && echo "failed: koordlet starts without a kubeconfig"
systemctl start koordctl@demo
until_active kubectl --kubeconfig $kubeconfig get node sim-0
for unit in koordlet koord-scheduler koord-manager koord-descheduler; do
  install -m 600 $kubeconfig /etc/koordinator/$unit.kubeconfig
  systemctl start $unit || echo "failed: start $unit"
done
until_active sh -c "kubectl --kubeconfig $kubeconfig get lease -n koordinator-system koord-scheduler -o jsonpath={.spec.holderIdentity} | grep ."
until_active sh -c "kubectl --kubeconfig $kubeconfig get lease -n koordinator-system koord-descheduler -o jsonpath={.spec.holderIdentity} | grep ."
until_active test -S /run/koordlet/koordlet.sock
systemctl start containerd koord-runtime-proxy || echo "failed: start koord-runtime-proxy"  # has started once containerd answers
for unit in koordctl@demo koordlet koord-scheduler koord-manager koord-descheduler koord-device-daemon koord-runtime-proxy; do
  echo "active $unit $(systemctl is-active $unit) $(systemctl show -p NRestarts --value $unit)"
done
# The flags that /etc/default/koord-scheduler proposes.
flags=$(sed -n 's/^# \(--auth\)/\1/p' /etc/default/koord-scheduler | tr '\n' ' ')
[ $(wc -w <<< "$flags") = 2 ] || echo "failed: /etc/default/koord-scheduler proposes $flags"
echo "KOORD_SCHEDULER_FLAGS=\"$flags\"" >> /etc/default/koord-scheduler
systemctl restart koord-scheduler
until_active bash -c "exec 3<>/dev/tcp/127.0.0.1/10251"
echo "proposed flags $(systemctl is-active koord-scheduler) $(systemctl show -p NRestarts --value koord-scheduler)"
# An upgrade, by dpkg's rules also that to the same version, restarts what runs, except clusters.
pid_of() { systemctl show -p MainPID --value $1; }
units="koordctl@demo koordlet koord-scheduler koord-manager koord-descheduler koord-device-daemon"
for unit in $units; do echo "$unit $(pid_of $unit)"; done > /tmp/pids
echo '# mine' >> /etc/default/koordlet
mv /usr/sbin/policy-rc.d /tmp
dpkg -i /debs/*.deb < /dev/null || echo "failed: upgrade"
mv /tmp/policy-rc.d /usr/sbin
for unit in $units; do
  echo "upgraded $unit $(systemctl is-active $unit) $(grep -qx "$unit $(pid_of $unit)" /tmp/pids && echo continues || echo restarted)"
done
mv /usr/sbin/policy-rc.d /tmp
dpkg --remove --force-depends koord-scheduler
echo "removed koord-scheduler $(systemctl is-active koord-scheduler)"
dpkg -i /debs/koord-scheduler_*.deb
mv /tmp/policy-rc.d /usr/sbin
echo "again koord-scheduler $(systemctl is-active koord-scheduler)"
grep -qx '# mine' /etc/default/koordlet || echo "failed: the upgrade replaces a changed file of /etc/default"
# As a user does; a purge of the packages takes it back.
systemctl enable koordctl@demo koordlet koord-scheduler koord-manager koord-descheduler || echo "failed: enable"
journalctl --no-pager -u 'koord*' > /root/journal.log
systemctl stop koordctl@demo || echo "failed: stop"
systemctl poweroff
"""
UNIT = "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/root/services.sh\n[Install]\nWantedBy=multi-user.target\n"
EXPECTED = [f"enabled {unit} {'enabled' if unit == 'koord-device-daemon' else 'disabled'}" for unit in (
    "koordctl@demo", "koordlet", "koord-scheduler", "koord-manager", "koord-descheduler", "koord-runtime-proxy",
    "koord-device-daemon")]
EXPECTED += [f"upgraded {unit} active restarted" for unit in ("koordlet", "koord-scheduler", "koord-manager", "koord-descheduler",
                                                              "koord-device-daemon")]
EXPECTED += ["proposed flags active 0", "removed koord-scheduler inactive", "again koord-scheduler inactive"]
EXPECTED += ["upgraded koordctl@demo active continues"]
EXPECTED += [f"active {unit} active 0" for unit in ("koordctl@demo", "koordlet", "koord-scheduler", "koord-manager",
                                                    "koord-descheduler", "koord-device-daemon", "koord-runtime-proxy")]


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def check_services(root):
    """Boots the root, which has the packages and systemd-sysv. Returns False if this host cannot."""
    if not shutil.which("systemd-nspawn"):
        print("services: not looked at, systemd-nspawn is missing (package systemd-container)", flush=True)
        return False
    write(root.at("root/services.sh"), SCRIPT, 0o755)
    write(root.at("etc/systemd/system/services-test.service"), UNIT)
    wants = root.at("etc/systemd/system/multi-user.target.wants/services-test.service")
    os.symlink("../services-test.service", wants)
    defaults = root.at("etc/default/koordctl")
    with open(defaults) as file:
        before = file.read()
    write(defaults, 'KOORDCTL_UP_FLAGS="--host-node=off --nodes 1 --components none"\n')
    booted = subprocess.run(["systemd-nspawn", "--register=no", "--keep-unit", "-q", "-D", root.path, "--private-network", "-b"],
                            capture_output=True, text=True, timeout=600)
    log = root.at("root/services.log")
    if not os.path.exists(log):
        raise AssertionError(f"systemd does not boot:\n{booted.stdout[-2000:]}{booted.stderr[-2000:]}")
    with open(log) as file:
        lines = file.read().splitlines()
    wrong = [line for line in lines if line.startswith("failed:")] + [line for line in EXPECTED if line not in lines]
    if wrong:
        with open(root.at("root/journal.log")) as file:
            raise AssertionError("services: " + "\n".join(wrong + ["", *lines]) + "\n" + file.read()[-6000:])
    write(defaults, before)
    for path in (wants, root.at("etc/systemd/system/services-test.service"), root.at("root/services.sh"), log,
                 root.at("root/journal.log")):
        os.remove(path)
    print("services: run below systemd", flush=True)
    return True
