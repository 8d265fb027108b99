"""opens.py KNUCKLE: recordings open with the mcap package and its Protobuf decoder, which share no code with ours: checksums,
schemas, transforms, meshes in the scene, joint states, contact forces with names and values, energy, report. Foxglove's
messages are also read by Foxglove's own classes, and our schemas of them compared with theirs. Exit status 77: packages are
missing (make peers)."""
import json, os, subprocess, sys, tempfile

try:
    from foxglove_schemas_protobuf import FrameTransforms_pb2, SceneUpdate_pb2
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory
except ImportError as e:
    print(f"0 passed, 0 failed, 1 skipped ({e.name} is missing: make peers)")
    sys.exit(77)

CUBE = """<mujoco><asset><mesh name="tetra" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .2"/></asset><worldbody>
<geom name="floor" type="plane" size="1 1 .1"/><body name="box" pos="0 0 .1"><freejoint name="root"/><geom name="cube" type="box" size=".1 .1 .1" mass="2"/>
<body name="arm" pos="0 0 .15"><joint name="elbow" axis="0 0 1"/><geom name="tetra" type="mesh" mesh="tetra" mass=".1"/></body></body></worldbody></mujoco>"""
OFFICIAL = {"/tf": FrameTransforms_pb2.FrameTransforms, "/scene": SceneUpdate_pb2.SceneUpdate}


def fields(message):
    return {(f.number, f.name, f.type, f.label, f.type_name) for f in message.field}


def compare_schema(schema, official):
    """Every message that ours describes has the fields of Foxglove's own .proto files."""
    ours = FileDescriptorSet.FromString(schema.data)
    own = {m.name: m for f in ours.file if f.package == "foxglove" for m in f.message_type}
    theirs, waiting = {}, [official.DESCRIPTOR]
    while waiting:
        d = waiting.pop()
        if d.full_name in theirs or d.file.package != "foxglove":
            continue
        theirs[d.full_name] = d
        waiting += [f.message_type for f in d.fields if f.message_type]
    for d in theirs.values():
        proto = type(FileDescriptorSet().file.add().message_type.add())()
        d.CopyToProto(proto)
        assert fields(own[d.name]) == fields(proto), d.name
        assert [[(v.name, v.number) for v in e.value] for e in own[d.name].enum_type] == [[(v.name, v.number) for v in e.value] for e in proto.enum_type], d.name


knuckle = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    model, path = os.path.join(folder, "cube.xml"), os.path.join(folder, "cube.mcap")
    open(model, "w").write(CUBE)
    subprocess.run([knuckle, "run", model, "--time", "0.5", "-o", path, "-q"], check=True, stdout=subprocess.DEVNULL)
    last, count, first = {}, {}, None
    with open(path, "rb") as f:
        decoders = {}
        for schema, channel, message in make_reader(f, validate_crcs=True).iter_messages():
            if channel.topic == "knuckle/settings":
                assert json.loads(message.data)["stepper"] == "time" and json.loads(schema.data)["title"] == schema.name
            if channel.message_encoding != "protobuf":
                continue
            if channel.topic not in decoders:
                decoders[channel.topic] = DecoderFactory().decoder_for("protobuf", schema)
                if channel.topic in OFFICIAL:
                    compare_schema(schema, OFFICIAL[channel.topic])
            value = decoders[channel.topic](message.data)
            if channel.topic in OFFICIAL:
                their = OFFICIAL[channel.topic].FromString(message.data)
                assert str(their) == str(value), "Foxglove's own classes read the same"
            last[channel.topic] = value
            count[channel.topic] = count.get(channel.topic, 0) + 1
            if channel.topic == "/scene" and first is None:
                first = value
    shapes = [t for e in first.entities for t in e.triangles]
    assert len(shapes) == 1 and len(shapes[0].points) == 4 and len(shapes[0].indices) == 12, "the mesh is in the scene"
    assert {e.frame_id for e in first.entities} == {"world", "box", "arm"}
    assert {t.child_frame_id for t in last["/tf"].transforms} == {"box", "arm"}
    assert [j.name for j in last["/joint_states"].joints] == ["elbow"]
    contacts = last["/contacts"].contacts
    weight = sum(c.force.z for c in contacts)
    assert {(c.a, c.b, c.body_a, c.body_b, c.mode) for c in contacts} == {("cube", "floor", "box", "world", "sticking")}
    assert {c.determinate for c in contacts} == {"no"}  # four corners: only their sum is
    assert abs(weight - 2.1 * 9.81) < 1e-9, weight  # at rest
    assert all(c.impulse.z == 0 for c in contacts)  # forces are forces
    on = last["/force_on/box"]
    assert abs(on.z - weight) < 1e-12 and on.contacts == 4 and on.determinate == "yes"
    assert "/force_on/arm" in last and last["/force_on/arm"].normal == 0
    arrows = last["/scene"].entities[0]
    assert len(arrows.arrows) == len(arrows.texts) == len(arrows.metadata) == 4
    assert {m.key for m in arrows.metadata} == {"floor on cube"} and all(m.value.endswith(" N") for m in arrows.metadata)
    assert abs(sum(float(m.value.split()[2]) for m in arrows.metadata) - weight) < 1e-3  # six digits
    e = last["/energy"]
    assert abs(e.kinetic + e.potential + e.spring - e.total) < 1e-12
    assert last["/report"].contacts == len(contacts)
    assert 28 <= count["/tf"] == count["/joint_states"] == count["/contacts"] == count["/energy"] == count["/report"] <= 32
print("1 passed, 0 failed, 0 skipped")
