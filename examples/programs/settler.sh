#!/bin/sh
# Takes free land with a tenth of its troops, and waits.
read -r hello
echo '{"name": "settler-in-sh", "interval": 100}'
while read -r line; do
    case $line in
        '{"config"'*) ;;                                     # the numbers of a game, which want no answer
        *'"legal": [0'*) echo '{"target": 0, "share": 102}' ;;
        *) echo '{}' ;;
    esac
done
