#!/bin/sh
# Makes Generated/*.pb.swift from Schema/*.proto. Needs protoc 3.21 and protoc-gen-swift 1.39 (swift-protobuf).
set -eu
cd "$(dirname "$0")"
protoc --proto_path=Schema --swift_out=Generated \
    --swift_opt=Visibility=Package --swift_opt=UseAccessLevelOnImports=true \
    Schema/change.proto Schema/container.proto Schema/people.proto
