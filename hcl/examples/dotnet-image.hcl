# dotnet-image runs C# with the .NET SDK of a container image. Where the host has an SDK, csharp-basic uses that.
#
# The operator of a node says from which registries images come: --image-registries mcr.microsoft.com

template "dotnet-image" {
  description = "C# with the .NET SDK of an image"
  runtimes    = ["csharp", "bash"]

  rootfs {
    image = "mcr.microsoft.com/dotnet/sdk:9.0"
  }

  resources {
    cpu    = 1
    memory = "2Gi"
    disk   = "1Gi"
    pids   = 512
  }
}
