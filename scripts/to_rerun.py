#!/usr/bin/env python3
"""to_rerun.py RUN.mcap [-o RUN.rrd]: a recording for Rerun with its shapes, moving, and its forces.

Rerun opens RUN.mcap itself: transforms, and every number of /force_on/BODY, /energy, /report to plot; but it does not
draw Foxglove's /scene. This writes meshes, boxes, spheres and cylinders on their bodies, and contact forces as arrows with
names and newtons. Needs the packages rerun-sdk and mcap-protobuf-support of PyPI."""
import argparse, sys

import numpy as np
import rerun as rr
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

SCALARS = {"/energy": ("kinetic", "potential", "spring", "total"), "/report": ("contacts", "residual", "penetration")}


def vector(v):
    return [v.x, v.y, v.z]


def quaternion(q):
    return rr.Quaternion(xyzw=[q.x, q.y, q.z, q.w])


def colour(c):
    return [c.r, c.g, c.b, c.a]


def log_shapes(entity):
    """The shapes of one body, in its frame."""
    base = ["world"] + [entity.frame_id] * (entity.frame_id != "world")
    kinds = [("cube", entity.cubes), ("sphere", entity.spheres), ("cylinder", entity.cylinders), ("mesh", entity.triangles)]
    for kind, shapes in kinds:
        for i, s in enumerate(shapes):
            path, size = [*base, f"{kind}{i}"], vector(s.size) if kind != "mesh" else None
            rr.log(path, rr.Transform3D(translation=vector(s.pose.position), quaternion=quaternion(s.pose.orientation)), static=True)
            if kind == "cube":
                shape = rr.Boxes3D(sizes=[size], colors=[colour(s.color)], fill_mode="solid")
            elif kind == "sphere":
                shape = rr.Ellipsoids3D(half_sizes=[[x / 2 for x in size]], colors=[colour(s.color)], fill_mode="solid")
            elif kind == "cylinder":
                shape = rr.Cylinders3D(lengths=[size[2]], radii=[size[0] / 2], colors=[colour(s.color)], fill_mode="solid")
            else:
                points = np.array([vector(p) for p in s.points])
                shape = rr.Mesh3D(vertex_positions=points, triangle_indices=np.array(s.indices).reshape(-1, 3), albedo_factor=colour(s.color))
            rr.log(path, shape, static=True)


def log_arrows(entity):
    """Contact forces with their names and values, a centimetre per newton."""
    origins, vectors = [], []
    for a in entity.arrows:
        q = a.pose.orientation
        x = np.array([1 - 2 * (q.y**2 + q.z**2), 2 * (q.x * q.y + q.w * q.z), 2 * (q.x * q.z - q.w * q.y)])  # the arrow's axis
        origins.append(vector(a.pose.position))
        vectors.append(x * (a.shaft_length + a.head_length))
    labels = [f"{m.key}: {m.value}" for m in entity.metadata]
    rr.log("world/contact_forces", rr.Arrows3D(origins=origins, vectors=vectors, labels=labels, colors=[[255, 102, 0]] * len(origins), show_labels=len(labels) <= 32))


def convert(path, to):
    rr.init("knuckle", spawn=False)
    rr.save(to)
    rr.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    with open(path, "rb") as f:
        reader = make_reader(f, decoder_factories=[DecoderFactory()])
        topics = [c.topic for c in reader.get_summary().channels.values() if c.message_encoding == "protobuf"]
        for _, channel, message, value in reader.iter_decoded_messages(topics=topics):
            rr.set_time("time", duration=message.log_time * 1e-9)
            if channel.topic == "/scene":
                for entity in value.entities:
                    (log_arrows if entity.id == "contact forces" else log_shapes)(entity)
            elif channel.topic == "/tf":
                for t in value.transforms:
                    rr.log(["world", t.child_frame_id], rr.Transform3D(translation=vector(t.translation), quaternion=quaternion(t.rotation)))
            elif channel.topic.startswith("/force_on/"):
                body = channel.topic.removeprefix("/force_on/")
                for part in ("normal", "tangential", "x", "y", "z"):
                    rr.log(["plots", "force_on", body, part], rr.Scalars(getattr(value, part)))
            elif channel.topic in SCALARS:
                for part in SCALARS[channel.topic]:
                    rr.log(f"plots{channel.topic}/{part}", rr.Scalars(getattr(value, part)))
            elif channel.topic == "/joint_states":
                for joint in value.joints:
                    rr.log(["plots", "joints", joint.name], rr.Scalars(joint.position))


if __name__ == "__main__":
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("recording")
    ask.add_argument("-o", "--output")
    given = ask.parse_args()
    convert(given.recording, given.output or given.recording.rsplit(".", 1)[0] + ".rrd")
    sys.stdout.write(f"wrote {given.output or given.recording.rsplit('.', 1)[0] + '.rrd'}\n")
