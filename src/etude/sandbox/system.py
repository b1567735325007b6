"""What programs need of the machine whatever they do."""

__all__ = ["PROGRAMS", "SETTINGS", "SETTINGS_FOR_NETWORK"]

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Programs and libraries, links among them."""

SETTINGS = (
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
"""Below /etc: no keys, no names of people and hosts."""

SETTINGS_FOR_NETWORK = ("hosts", "resolv.conf")
"""Below /etc: needed to find other machines."""
