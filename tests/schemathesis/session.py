"""Logs an administrator with the password of CMS_OWN_PASSWORD in for the first time and prints the
session's token."""

import os
import subprocess
import sys

import proof

binary, site, url = sys.argv[1:4]
password = os.environ["CMS_OWN_PASSWORD"]
subprocess.run(
    [binary, "--dir", site, "init", "-q", "--admin", "ana", "--password-stdin"],
    input=password + "\n",
    text=True,
    check=True,
    stdout=subprocess.DEVNULL,
)
second = proof.first(url, "ana", password)
print(proof.post(url, "/api/backend/auth/verify", second)["token"])
