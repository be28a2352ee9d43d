"""Rules of security teams: sequences of EQL, and correlations as Sigma describes them."""

from __future__ import annotations

from use_cases.case import Rows, UseCase, moments, rows

from cepheid import Pattern, all_of, skip


def opened(name: str) -> Pattern:
    return Pattern.begin(name).where(f"path = '{name}'")


def command(name: str) -> Pattern:
    return Pattern.begin(name).where(f"cmd = '{name}'")


def with_arguments(listed: Rows, *arguments: list[str] | None) -> Rows:
    return [{**row, "args": given} for row, given in zip(listed, arguments, strict=True)]


DENIED = Pattern.begin("deny").where("k = 'deny'")

CASES = (
    UseCase(
        "E1",
        "an alert, and then nothing is heard of the host for five minutes",
        Pattern.begin("alert")
        .where("k = 'alert'")
        .not_followed_by("sign")
        .where("k IN ('process', 'file', 'network')")
        .within("5 minutes"),
        moments("host ts k", "a 9:00 alert; a 9:01 process; b 9:00 alert; b 9:05 process; c 9:00 alert; c 9:01 auth"),
        "b: alert@09:00 | c: alert@09:00",
        by="host",
        order="ts",
    ),
    UseCase(
        "E2",
        "a second factor is taken off and not put back for twelve hours; the account may be one of several",
        Pattern.begin("off")
        .where("k IN ('deactivate', 'reset') AND result = 'ok'")
        .not_followed_by("on_")
        .where("k = 'activate'")
        .within(43200),
        [
            {"targets": ["u", "w"], "t": 0, "k": "deactivate", "result": "ok"},
            {"targets": ["u"], "t": 40000, "k": "activate", "result": "ok"},
            {"targets": ["v"], "t": 0, "k": "reset", "result": None},
        ],
        "w: off@0",
        by={"target": "targets"},
    ),
    UseCase(
        "E3",
        "push bombing: five denials and then a success within ten minutes",
        DENIED.times(5).followed_by("ok").where("k = 'success'").within(600).skip(skip.past_last_event),
        rows(
            "actor t k",
            "u 1 deny; u 2 deny; u 3 deny; u 4 deny; u 5 deny; u 6 deny; u 7 deny; u 8 success; "
            "v 1 deny; v 2 deny; v 3 deny; v 4 deny; v 5 success",
        ),
        "u: deny@1,2,3,4,5 ok@8",
        by="actor",
    ),
    UseCase(
        "E4",
        "five denials without a success among them",
        DENIED.one_or_more().until("k = 'success'").having("COUNT(deny.*) >= 5").within(600).skip(skip.past_last_event),
        rows(
            "actor t k",
            "u 1 deny; u 2 deny; u 3 success; u 4 deny; u 5 deny; u 6 deny; u 7 deny; "
            "v 1 deny; v 2 deny; v 3 deny; v 4 deny; v 5 deny",
        ),
        "v: deny@1,2,3,4,5",
        by="actor",
    ),
    UseCase(
        "E5",
        "ransomware: one process renames files in a second, and then writes a note",
        Pattern.begin("renamed")
        .where("action = 'rename' AND exe RLIKE '^(/tmp/|/dev/shm/)' AND name NOT IN ('git', 'dpkg')")
        .times(3)
        .followed_by("note")
        .where("action = 'create' AND file RLIKE '(?i)(restore|recover|read|ransom)'")
        .within(1000)
        .skip(skip.past_last_event),
        rows(
            "host ent t action exe name file",
            "h 7 1 rename /tmp/x x a.doc; h 7 20 rename /tmp/x x b.doc; h 7 30 rename /tmp/x x c.doc; "
            "h 7 900 create /tmp/x x README.txt; h 8 1 rename /tmp/git git a; h 8 2 rename /tmp/git git b; "
            "h 8 3 rename /tmp/git git c; h 8 4 create /tmp/git git READ",
        ),
        "h/7: renamed@1,20,30 note@900",
        by=["host", "ent"],
    ),
    UseCase(
        "E6",
        "names looked up again and again with certain arguments, which are an array",
        Pattern.begin("q")
        .where("name = 'nslookup' AND array_join(args, ' ') RLIKE '(^| )-(q|type)='")
        .times(3)
        .within(300)
        .skip(skip.past_last_event),
        with_arguments(
            rows("host t name", "h 1 nslookup; h 2 nslookup; h 3 nslookup; h 4 nslookup; h 5 nslookup"),
            ["nslookup", "-q=txt"],
            ["nslookup", "x"],
            ["-type=a"],
            ["-q=txt", "y"],
            ["-q=txt"],
        ),
        "h: q@1,3,4",
        by="host",
    ),
    UseCase(
        "E7",
        "a host is made to open a pipe: two tables, joined by columns of different names",
        Pattern.begin("net").where("port = 445").followed_by("pipe").where("file IN ('spoolss', 'netdfs')").within(15),
        {
            "net": rows("t ns port host_ip", "1 d 445 10.0.0.5."),
            "pipe": rows("t ns file source_ip", "3 d spoolss 10.0.0.5.; 4 d spoolss 10.0.0.6.; 20 d netdfs 10.0.0.5."),
        },
        "10.0.0.5./d: net@1 pipe@3",
        by={"ip": {"net": "host_ip", "pipe": "source_ip"}, "ns": "ns"},
    ),
    UseCase(
        "E8",
        "an installer starts a process: the child's parent is the installer, and an event may be both",
        Pattern.begin("a")
        .where("name = 'node' AND arg = 'install'")
        .followed_by_any("b")
        .where("pname = 'node'")
        .within(10),
        rows(
            "host t ent parent name pname arg",
            "h 1 100 1 node bash install; h 2 200 1 node bash install; h 3 201 200 node node install; "
            "h 4 202 201 sh node -c; h 5 203 100 sh node -c",
        ),
        "h/100: a@1 b@5 | h/200: a@2 b@3 | h/201: a@3 b@4",
        by={"host": "host", "process": {"a": "ent", "b": "parent"}},
    ),
    UseCase(
        "E9",
        "a file is loaded, run under its name, and deleted",
        Pattern.begin("c")
        .where("ev = 'create' AND proc IN ('curl', 'wget') AND path LIKE '/tmp/%'")
        .followed_by("x")
        .where("ev = 'exec'")
        .followed_by("d")
        .where("ev = 'delete'")
        .within(60),
        rows(
            "host t ev proc file path",
            "h 1 create curl a.out /tmp/a.out; h 2 create wget b.out /tmp/b.out; h 3 exec a.out - -; "
            "h 5 exec b.out - -; "
            "h 7 delete rm a.out /tmp/a.out; h 70 delete rm b.out /tmp/b.out",
        ),
        "h/a.out: c@1 x@3 d@7",
        by={"host": "host", "program": {"c": "file", "x": "proc", "d": "file"}},
    ),
    UseCase(
        "E10",
        "a program is compiled, linked, run, and goes to the network; the compiler's arguments are an array",
        Pattern.begin("cc")
        .where("ev = 'exec' AND proc IN ('gcc', 'cc')")
        .followed_by("ld")
        .where("ev = 'create'")
        .followed_by("run")
        .where("ev = 'exec'")
        .followed_by("net")
        .where("ev = 'connect'")
        .within(60),
        with_arguments(
            rows(
                "host t ev proc file",
                "h 1 exec gcc -; h 2 create ld evil; h 3 exec evil -; h 4 connect evil -; h 5 create ld x.c",
            ),
            ["gcc", "x.c", "-o", "evil"],
            None,
            ["evil"],
            None,
            None,
        ),
        "h/evil: cc@1 ld@2 run@3 net@4",
        by={"host": "host", "program": {"cc": "args", "ld": "file", "run": "proc", "net": "proc"}},
    ),
    UseCase(
        "E11",
        "an identity is at risk, and registers a device: two tables with schemas of their own",
        Pattern.begin("risk").followed_by("device").where("action = 'register'").within(300),
        {
            "risk": rows("t principal level", "1 ann 3"),
            "device": rows("t action upn", "2 register bob; 9 register ann"),
        },
        "ann: risk@1 device@9",
        by={"user": {"risk": "principal", "device": "upn"}},
    ),
    UseCase(
        "E12",
        "five files opened by one process, in any order, however long it takes",
        Pattern.begin(all_of(*map(opened, ("passwd", "machine", "inet6", "ipv6", "route")))).skip(skip.past_last_event),
        rows(
            "host pid t path",
            "h 1 1 passwd; h 1 2 machine; h 1 3 passwd; h 1 4 hosts; h 1 5 inet6; h 1 6 ipv6; h 1 7 route; "
            "h 2 1 passwd; h 2 2 route; h 2 3 ipv6; h 2 4 inet6",
        ),
        "h/1: passwd@1 machine@2 inet6@5 ipv6@6 route@7",
        by=["host", "pid"],
    ),
    UseCase(
        "E13",
        "a tool that should stay at home talks to an address outside",
        Pattern.begin("s")
        .where("name = 'msxsl' AND ev = 'start'")
        .followed_by("n")
        .where("ev = 'net' AND NOT cidr_match(ip, '10.0.0.0/8', '127.0.0.0/8', '192.168.0.0/16', '172.16.0.0/12')"),
        rows(
            "ent t name ev ip",
            "1 1 msxsl start -; 1 2 msxsl net 10.1.2.3; 1 3 msxsl net 8.8.8.8; 2 1 msxsl start -; "
            "2 2 msxsl net 172.20.0.1",
        ),
        "1: s@1 n@3",
        by="ent",
    ),
    UseCase(
        "E14",
        "three documents renamed within a second to one ending, with contents that look encrypted",
        Pattern.begin("r")
        .where("entropy >= 6 AND orig RLIKE '[.](jpg|doc|pdf)$' AND ext NOT IN ('jpg', 'doc', 'pdf')")
        .times(3)
        .within(1000)
        .skip(skip.past_last_event),
        rows(
            "host ext t entropy orig",
            "h lck 1 7 a.doc; h lck 5 7 b.jpg; h lck 9 7.5 c.pdf; h lck 12 7 d.doc; h doc 1 7 a.doc; h bak 1 3 a.doc",
        ),
        "h/lck: r@1,5,9",
        by=["host", "ext"],
    ),
    UseCase(
        "E15",
        "something is loaded from a bare address, and an interpreter starts beside it",
        Pattern.begin("get")
        .where("name IN ('curl', 'wget') AND url RLIKE '[0-9]{1,3}([.][0-9]{1,3}){3}(:[0-9]+)?/'")
        .followed_by("sh")
        .where("name IN ('bash', 'sh', 'python3')")
        .within(1000),
        rows(
            "host par t name url",
            "h 1 0 curl http://1.2.3.4/x; h 1 5 bash -; h 2 0 curl --help; h 2 5 bash -; "
            "h 3 0 curl 1.2.3.4:80/x; h 3 1000 sh -",
        ),
        "h/1: get@0 sh@5",
        by=["host", "par"],
    ),
    UseCase(
        "E16",
        "a user comes from a place that was not seen in the 14 days before",
        Pattern.not_before("seen").begin("first").within(14),
        rows("user src t", "u a 1; u a 10; u b 12; u a 25; u a 26"),
        "u/a: first@1 | u/a: first@25 | u/b: first@12",
        by=["user", "src"],
    ),
    UseCase(
        "S1",
        "four failed logins on a computer within an hour",
        Pattern.begin("f").where("id = 4625").times(4).within(3600).skip(skip.past_last_event),
        rows(
            "host t id",
            "h 0 4625; h 600 4625; h 900 4624; h 1200 4625; h 1800 4625; h 1900 4625; h 2000 4625; "
            "i 0 4625; i 1800 4625; i 3000 4625; i 3600 4625",
        ),
        "h: f@0,600,1200,1800",
        by="host",
    ),
    UseCase(
        "S2",
        "failed logins of three different users on a computer within a day",
        Pattern.begin("f")
        .where("id = 4625")
        .one_or_more()
        .having("COUNT(DISTINCT f.user) >= 3")
        .within(86400)
        .skip(skip.past_last_event),
        rows(
            "host t id user",
            "h 1 4625 a; h 2 4625 a; h 3 4625 b; h 4 4624 c; h 5 4625 c; i 1 4625 a; i 2 4625 a; i 3 4625 a",
        ),
        "h: f@1,2,3,5",
        by="host",
    ),
    UseCase(
        "S3",
        "three commands of somebody who looks around, in any order within five minutes",
        Pattern.begin(all_of(*map(command, ("whoami", "ipconfig", "netstat")))).within(300).skip(skip.past_last_event),
        rows(
            "host user t cmd",
            "h u 1 netstat; h u 2 netstat; h u 5 whoami; h u 9 dir; h u 20 ipconfig; h v 1 whoami; "
            "h v 2 ipconfig; h v 301 netstat",
        ),
        "h/u: whoami@5 ipconfig@20 netstat@1",
        by=["host", "user"],
    ),
    UseCase(
        "S4",
        "at least two of three rules hit a host within five minutes",
        Pattern.begin(
            all_of(*(Pattern.begin(name).where(f"rule = '{name}'") for name in ("r1", "r2", "r3")), at_least=2)
        )
        .within(300)
        .skip(skip.past_last_event),
        rows("host t rule", "h 1 r2; h 2 r2; h 9 r1; i 1 r3; i 301 r1; j 1 r1; j 2 x"),
        "h: r1@9 r2@1 r3@-",
        by="host",
    ),
    UseCase(
        "S5",
        "an error at a server and a connection from it back to the client, in either order",
        Pattern.begin(all_of(Pattern.begin("err").where("k = 'err'"), Pattern.begin("conn").where("k = 'conn'")))
        .within(10)
        .skip(skip.past_last_event),
        rows("t k src dst", "1 err R S; 4 conn S R; 5 conn S Q; 20 conn T U; 25 err U T; 30 err U T"),
        "S/R: err@1 conn@4 | T/U: err@25 conn@20",
        by={"server": {"err": "dst", "conn": "src"}, "client": {"err": "src", "conn": "dst"}},
    ),
    UseCase(
        "S6",
        "three failed logins within ten minutes, and a success within ten minutes of the last",
        Pattern.begin("f")
        .where("id = 4625 AND (COUNT(f.*) = 0 OR t - FIRST(f.t) < 600)")
        .times(3)
        .followed_by("ok")
        .where("id = 4624")
        .within(600, since="f")
        .skip(skip.past_last_event),
        rows("user t id", "u 0 4625; u 300 4625; u 500 4625; u 1000 4624; v 0 4625; v 10 4625; v 20 4625; v 620 4624"),
        "u: f@0,300,500 ok@1000",
        by="user",
    ),
    UseCase(
        "S7",
        "fewer than three heartbeats within an hour of the first",
        Pattern.not_before("earlier")
        .where("k = 'hb'")
        .begin("b")
        .where("k = 'hb'")
        .one_or_more()
        .whole()
        .having("COUNT(b.*) < 3")
        .within(3600),
        rows("host t k", "h 0 hb; h 1000 hb; h 2000 hb; i 0 hb; i 1500 hb; j 0 hb"),
        "i: b@0,1500 | j: b@0",
        by="host",
    ),
)
