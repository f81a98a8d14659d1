import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/**
 * A server that speaks MongoDB's protocol and keeps everything in memory, for tests. Prints its connection string when it takes
 * connections, and ends with the process. Usage: MongoTestServer PORT (0: any free one).
 */
public class MongoTestServer {
  /** What the server says it is: drivers refuse a wire version below 9. The commands that a client of 5.0 sends are there. */
  private static final MongoVersion FIVE =
      new MongoVersion() {
        @Override
        public List<Integer> getVersionArray() {
          return List.of(5, 0, 0, 0);
        }

        @Override
        public String toVersionString() {
          return "5.0.0";
        }

        @Override
        public int getWireVersion() {
          return 13;
        }
      };

  public static void main(String[] args) throws InterruptedException {
    if (args.length != 1) {
      System.err.println("usage: MongoTestServer PORT");
      System.exit(2);
    }
    MongoServer server = new MongoServer(new MemoryBackend().version(FIVE));
    server.bind("127.0.0.1", Integer.parseInt(args[0]));
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
    System.out.println("mongodb://127.0.0.1:" + server.getLocalAddress().getPort());
    Thread.currentThread().join();
  }
}
