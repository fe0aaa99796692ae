#!/bin/sh
# Interesting is what has an exponential.
grep -q 'math.exp' "$1"
