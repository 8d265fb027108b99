"""opens.py KNUCKLE: recordings open with the mcap package, which shares no code with ours: checksums, schemas,
transforms, meshes in the scene, joint states, contact forces, energy, report. Exit status 77: no mcap package."""
import json, os, subprocess, sys, tempfile

try:
    from mcap.reader import make_reader
except ImportError:
    print("0 passed, 0 failed, 1 skipped (no mcap package: make peers)")
    sys.exit(77)

CUBE = """<mujoco><asset><mesh name="tetra" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .2"/></asset><worldbody>
<geom name="floor" type="plane" size="1 1 .1"/><body name="box" pos="0 0 .1"><freejoint name="root"/><geom name="cube" type="box" size=".1 .1 .1" mass="2"/>
<body name="arm" pos="0 0 .15"><joint name="elbow" axis="0 0 1"/><geom name="tetra" type="mesh" mesh="tetra" mass=".1"/></body></body></worldbody></mujoco>"""

knuckle = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    model, path = os.path.join(folder, "cube.xml"), os.path.join(folder, "cube.mcap")
    open(model, "w").write(CUBE)
    subprocess.run([knuckle, "run", model, "--time", "0.5", "-o", path, "-q"], check=True, stdout=subprocess.DEVNULL)
    last, count = {}, {}
    with open(path, "rb") as f:
        for schema, channel, message in make_reader(f, validate_crcs=True).iter_messages():
            if channel.message_encoding != "json":
                continue
            described = json.loads(schema.data)  # a JSON schema that names what the message holds
            assert schema.encoding == "jsonschema" and described["title"] == schema.name
            value = json.loads(message.data)
            for key in value:
                assert channel.topic == "knuckle/settings" or key in described["properties"], (channel.topic, key)
            last[channel.topic] = value
            count[channel.topic] = count.get(channel.topic, 0) + 1
            if channel.topic == "/scene" and count["/scene"] == 1:
                first = value
    shapes = [t for e in first["entities"] for t in e["triangles"]]
    assert len(shapes) == 1 and len(shapes[0]["points"]) == 4 and len(shapes[0]["indices"]) == 12, "the mesh is in the scene"
    assert {t["child_frame_id"] for t in last["/tf"]["transforms"]} == {"box", "arm"}
    assert [j["name"] for j in last["/joint_states"]["joints"]] == ["elbow"]
    contacts = last["/contacts"]["contacts"]
    weight = sum(c["force"]["z"] for c in contacts)
    assert {c["body_a"] for c in contacts} == {"box"} and {c["body_b"] for c in contacts} == {"world"}
    assert abs(weight - 2.1 * 9.81) < 1e-6, weight  # at rest, nine digits in the file
    assert all(c["impulse"]["z"] == 0 for c in contacts)  # forces are forces
    assert abs(sum(last["/energy"][k] for k in ("kinetic", "potential", "spring")) - last["/energy"]["total"]) < 1e-6
    assert last["/report"]["contacts"] == len(contacts)
    assert 28 <= count["/tf"] == count["/joint_states"] == count["/contacts"] == count["/energy"] == count["/report"] <= 32
print("1 passed, 0 failed, 0 skipped")
